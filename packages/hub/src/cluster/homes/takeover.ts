import { createHash } from "node:crypto";
import type { HubIdentity } from "../../domain/hub-identity.ts";

/** A hub that does not take a room in this time is passed over. */
const rankMs = 2_000;

export type TakeoverStep =
  | { kind: "take" }
  /** A request goes to this hub, with a mark that makes it take the room. */
  | { kind: "ask"; hub: HubIdentity };

/** One room without a home, which something waits for: who takes it, and when. */
export class Takeover {
  /** of the home that is dead */
  readonly overEpoch: number;
  #sinceMs: number;
  readonly #asked = new Set<string>();

  constructor(overEpoch: number, nowMs: number) {
    this.overEpoch = overEpoch;
    this.#sinceMs = nowMs;
  }

  /**
   * @param ranked - the hubs that can take it, the first one first
   * @returns undefined while another hub still has time to take the room
   */
  next(ranked: readonly HubIdentity[], self: HubIdentity, nowMs: number): TakeoverStep | undefined {
    if (nowMs - this.#sinceMs >= ranked.length * rankMs) {
      this.#asked.clear();
      this.#sinceMs = nowMs;
    }
    const turns = Math.floor((nowMs - this.#sinceMs) / rankMs) + 1;
    for (const hub of ranked.slice(0, turns)) {
      if (hub.hubId === self.hubId) return { kind: "take" };
      if (this.#asked.has(hub.hubId)) continue;
      this.#asked.add(hub.hubId);
      return { kind: "ask", hub };
    }
    return undefined;
  }

  isOld(nowMs: number): boolean {
    return nowMs - this.#sinceMs > 15_000;
  }
}

/**
 * By rendezvous hash, the same at all hubs. The next life of the dead home goes first: agents and balancers go to it.
 *
 * @param deadHubId - of the home that is dead
 */
export function rankHubs(
  code: string,
  hubs: readonly HubIdentity[],
  deadHubId: string | undefined,
): HubIdentity[] {
  const scored = hubs.map((hub) => ({
    hub,
    score: hub.hubId === deadHubId ? "" : scoreOf(code, hub.hubId),
  }));
  scored.sort((one, other) => (one.score < other.score ? -1 : 1));
  return scored.map(({ hub }) => hub);
}

function scoreOf(code: string, hubId: string): string {
  return createHash("sha256").update(`${code} ${hubId}`).digest("hex").slice(0, 16);
}
