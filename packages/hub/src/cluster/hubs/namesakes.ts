import type { HubIdentity } from "../../domain/hub-identity.ts";
import type { Log } from "../../log.ts";
import type { HubPresence } from "./hub-presence.ts";
import { SILENCE_MS } from "./hubs.ts";

/** While two hubs share an id, that is repeated this often. */
const repeatMs = 10 * 60_000;

interface Conflict {
  /** ms, monotonic: when the two last took turns */
  seenMs: number;
  saidMs: number;
}

/** What the operator is to know. */
export interface NamesakeNews {
  kind: "sharing" | "over";
  /** the last one that was heard of; `over`: of the one that is left, or was left last */
  presence: HubPresence;
  isOwn: boolean;
}

/**
 * Finds hubs that run at the same time under one id, as those do that advertise the same URL. A hub that restarts has
 * another boot id, and the one before is never heard of again: two that live take turns.
 *
 * Reads no clock. The caller says what it finds.
 */
export class Namesakes {
  readonly #own: HubIdentity;
  /** by hub id; its lives of the last 10 s, the one heard of last at the end */
  readonly #lives = new Map<string, { presence: HubPresence; heardMs: number }[]>();
  readonly #conflicts = new Map<string, Conflict>();

  constructor(own: HubIdentity) {
    this.#own = own;
  }

  /** A beat of another process, which may have this hub's id. */
  heard(presence: HubPresence, nowMs: number): void {
    const { hubId, bootId, isDraining } = presence;
    // One that stops may do so beside its successor.
    if (isDraining) return;
    const lives = this.#recent(hubId, nowMs);
    const before = lives.find((life) => life.presence.bootId === bootId);
    const others = lives.filter((life) => life !== before);
    this.#lives.set(hubId, [...others, { presence, heardMs: nowMs }]);
    // This hub's own beats are not among them.
    const isTurn = hubId === this.#own.hubId || before !== lives.at(-1);
    if (before === undefined || !isTurn) return;
    const conflict = this.#conflicts.get(hubId) ?? { saidMs: Number.NEGATIVE_INFINITY };
    this.#conflicts.set(hubId, { ...conflict, seenMs: nowMs });
  }

  /** @returns what is to be said now: a conflict at its beginning, every 10 min, and its end */
  takeNews(nowMs: number): NamesakeNews[] {
    const news: NamesakeNews[] = [];
    for (const [hubId, conflict] of this.#conflicts) {
      const presence = this.#lives.get(hubId)?.at(-1)?.presence;
      if (presence === undefined) continue;
      const isOwn = hubId === this.#own.hubId;
      if (nowMs - conflict.seenMs > SILENCE_MS) {
        this.#conflicts.delete(hubId);
        news.push({ kind: "over", presence, isOwn });
      } else if (nowMs - conflict.saidMs >= repeatMs) {
        conflict.saidMs = nowMs;
        news.push({ kind: "sharing", presence, isOwn });
      }
    }
    for (const hubId of this.#lives.keys()) {
      if (!this.#conflicts.has(hubId) && this.#recent(hubId, nowMs).length === 0)
        this.#lives.delete(hubId);
    }
    return news;
  }

  isShared(hubId: string): boolean {
    return this.#conflicts.has(hubId);
  }

  /** Whether it is one of several under its id, and was heard of: then it is not dead, whichever of them counts. */
  isAlive({ hubId, bootId }: HubIdentity, nowMs: number): boolean {
    if (!this.#conflicts.has(hubId)) return false;
    return this.#recent(hubId, nowMs).some(({ presence }) => presence.bootId === bootId);
  }

  #recent(hubId: string, nowMs: number) {
    const lives = this.#lives.get(hubId) ?? [];
    return lives.filter(({ heardMs }) => nowMs - heardMs <= SILENCE_MS);
  }
}

/** What is shown beside a hub whose id is shared. */
export const sharedIdProblem =
  "another hub has the same id: give each an --advertise URL of its own";

/** Without it the two would take each other's requests and participants, now and then, for no visible reason. */
export function warnOfNamesake(log: Pick<Log, "warn">, { kind, presence, isOwn }: NamesakeNews) {
  const { hubId, linkUrl: url, startedAt } = presence;
  const others = { hubId, url, otherStartedAt: new Date(startedAt).toISOString() };
  if (kind === "over") {
    log.warn("no two hubs have this id any more", { hubId });
  } else if (isOwn) {
    log.warn(
      "another hub has the id of this one, because both are reached at the same URL: requests and participants " +
        "get to the wrong one of them. Stop one, or give each an --advertise URL of its own",
      others,
    );
  } else {
    log.warn(
      "two hubs have one id, because both are reached at the same URL: requests and participants get to the " +
        "wrong one of them. Stop one, or give each an --advertise URL of its own",
      { hubId, url },
    );
  }
}
