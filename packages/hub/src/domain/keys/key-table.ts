import type { Key, KeyRight } from "@roomhub/protocol";
import { dayOf, nextDayMs, type TokenDay } from "./token-day.ts";

/** A key of a room. Its value is kept nowhere. Contract §9. */
export interface RoomKey {
  readonly id: string;
  /** of its holder */
  readonly name: string;
  readonly may: readonly KeyRight[];
  /** the models that its holder may use; undefined for all */
  readonly models: readonly string[] | undefined;
  /** undefined for any number */
  readonly requestsPerMinute: number | undefined;
  /** undefined for any number of tokens */
  readonly tokenDay: TokenDay | undefined;
  /** SHA-256 of its value, in base64url */
  readonly digest: string;
  /** what it was before the last rotation, and until when (epoch ms) that is valid */
  readonly previous: { readonly digest: string; readonly endsAt: number } | undefined;
  /** epoch ms, as the next two */
  readonly createdAt: number;
  readonly expiresAt: number | undefined;
  readonly revokedAt: number | undefined;
  /** `YYYY-MM-DD`, local; changes while the key is used */
  lastSeenDay: string | undefined;
}

/** What a value that was presented is worth in a room. */
export type KeyVerdict =
  | { readonly kind: "valid"; readonly key: RoomKey }
  | { readonly kind: "unknown" | "revoked" | "expired" };

/** For so long the name of an ended key is not given again, and its value gets an error of its own. */
const rememberedMs = 30 * 24 * 3_600_000;

/** The keys of one room. It never changes: a change makes another table. */
export class KeyTable {
  /** the oldest first */
  readonly list: readonly RoomKey[];
  readonly #byDigest = new Map<string, RoomKey>();

  constructor(list: readonly RoomKey[]) {
    this.list = list;
    for (const key of list) {
      if (key.previous !== undefined) this.#byDigest.set(key.previous.digest, key);
      this.#byDigest.set(key.digest, key);
    }
  }

  get size(): number {
    return this.list.length;
  }

  /** By its id, or by its name in any letter case. */
  find(idOrName: string): RoomKey | undefined {
    const name = idOrName.toLowerCase();
    return this.list.find((key) => key.id === idOrName || key.name.toLowerCase() === name);
  }

  /** @param digest - SHA-256 of the value that was presented, in base64url */
  judge(digest: string, nowMs: number): KeyVerdict {
    const key = this.#byDigest.get(digest);
    if (key === undefined || isForgotten(key, nowMs)) return { kind: "unknown" };
    const endsAt = digest === key.digest ? Infinity : (key.previous?.endsAt ?? 0);
    if ((key.revokedAt ?? Infinity) <= nowMs || endsAt <= nowMs) return { kind: "revoked" };
    if ((key.expiresAt ?? Infinity) <= nowMs) return { kind: "expired" };
    return { kind: "valid", key };
  }

  /** Whether a key has neither been revoked nor expired. */
  isLive(id: string, nowMs: number): boolean {
    return this.list.some((key) => key.id === id && endOf(key) > nowMs);
  }

  /** Whether any key of the room is valid. */
  hasLive(nowMs: number): boolean {
    return this.list.some((key) => endOf(key) > nowMs);
  }

  /** With one key more, or with another state of the key that has its id. */
  with(key: RoomKey): KeyTable {
    const isKnown = this.list.some(({ id }) => id === key.id);
    return new KeyTable(
      isKnown ? this.list.map((one) => (one.id === key.id ? key : one)) : [...this.list, key],
    );
  }

  /** Without the keys that ended more than 30 days ago. */
  remembered(nowMs: number): KeyTable {
    return new KeyTable(this.list.filter((key) => !isForgotten(key, nowMs)));
  }
}

export const noKeys = new KeyTable([]);

/** A key as it is listed. */
export function keyView(key: RoomKey, nowMs: number): Key {
  const { id, name, may, models, createdAt, expiresAt, lastSeenDay, revokedAt } = key;
  const { requestsPerMinute, tokenDay } = key;
  return {
    ...{ id, name, may: [...may], createdAt, models: models && [...models], requestsPerMinute },
    ...(tokenDay && tokenFields(tokenDay, nowMs)),
    ...{ expiresAt, lastSeenDay, revokedAt },
  };
}

/** Notes that a key is used today. */
export function noteUse(key: RoomKey, nowMs: number): void {
  key.lastSeenDay = dayOf(nowMs);
}

function tokenFields(tokenDay: TokenDay, nowMs: number) {
  return {
    tokensPerDay: tokenDay.limit,
    spentToday: tokenDay.spent(nowMs),
    resetAt: nextDayMs(nowMs),
  };
}

function endOf({ expiresAt = Infinity, revokedAt = Infinity }: RoomKey): number {
  return Math.min(expiresAt, revokedAt);
}

function isForgotten(key: RoomKey, nowMs: number): boolean {
  return endOf(key) + rememberedMs <= nowMs;
}
