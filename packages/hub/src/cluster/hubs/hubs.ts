import { isLoopbackHost } from "@roomhub/protocol";
import type { HubIdentity } from "../../domain/hub-identity.ts";
import { PRESENCE_INTERVAL_MS } from "../directory.ts";
import type { HubPresence } from "./hub-presence.ts";

/** A hub that has not been heard of for longer is dead. */
export const SILENCE_MS = 10_000;
/** A beat is missed when it is a second late: the directory may be slow. */
const missedBeatMs = PRESENCE_INTERVAL_MS + 1_000;
/** A process that restarts is back before. */
const refusedMs = 2_000;

/** What this hub can see while it judges the silence of others. */
export interface Sight {
  /** ms on the same monotonic clock as all others here */
  nowMs: number;
  /** since when the directory has been up without a gap; undefined while it is down */
  directoryUpSinceMs: number | undefined;
  /** this hub's link to that one responds */
  isLinkOpen: (hubId: string) => boolean;
  /** for how long that hub has refused each dial, after its socket was reset; 0 otherwise */
  refusedForMs: (hubId: string) => number;
}

interface PresentHub {
  presence: HubPresence;
  /** ms, monotonic */
  lastSeenMs: number;
}

/** Lives of hubs whose end is remembered; an older one would be judged again. */
const maxRemembered = 4_096;

/**
 * The other hubs of the cluster, and which are dead: those that left, those whose next life announced itself, and those
 * that are silent. Reads no clock, and changes nothing else: the caller decides what follows.
 *
 * A life that is heard of after its death is present again.
 */
export class Hubs {
  readonly #own: HubIdentity;
  /** by hub id; of each hub its latest life */
  readonly #present = new Map<string, PresentHub>();
  /** that own entries and were never heard of; since when they are silent, by life */
  readonly #unseen = new Map<string, { hub: HubIdentity; sinceMs: number }>();
  readonly #dead = new Set<string>();

  constructor(own: HubIdentity) {
    this.#own = own;
  }

  /** A beat of a hub. */
  seen(presence: HubPresence, nowMs: number): void {
    const { hubId, bootId, startedAt } = presence;
    if (hubId === this.#own.hubId) return;
    const before = this.#present.get(hubId)?.presence;
    if (before !== undefined && before.bootId !== bootId) {
      // Two hubs with one id take turns: the younger one counts.
      if (before.startedAt > startedAt) return;
      this.#bury(before);
    }
    this.#dead.delete(lifeKey(presence));
    this.#unseen.delete(lifeKey(presence));
    this.#present.set(hubId, { presence, lastSeenMs: nowMs });
  }

  /** It removed its presence: it ended in order. */
  left(hubId: string): void {
    const present = this.#present.get(hubId);
    if (present !== undefined) this.#bury(present.presence);
  }

  /**
   * Buries those that are dead by their silence: not heard of for more than 10 s, all of which the directory was up, and
   * without a link that responds. After its own directory was away, a hub waits 10 s anew: then the silence was its own.
   * One missed beat is enough of a hub that has refused dials for 2 s.
   *
   * @returns them
   */
  judge({ nowMs, directoryUpSinceMs, isLinkOpen, refusedForMs }: Sight): HubIdentity[] {
    if (directoryUpSinceMs === undefined) return [];
    const isSilent = (sinceMs: number, limitMs = SILENCE_MS) =>
      nowMs - Math.max(sinceMs, directoryUpSinceMs) > limitMs;
    const silent: HubIdentity[] = [];
    for (const [hubId, { presence, lastSeenMs }] of this.#present) {
      const limitMs = refusedForMs(hubId) >= refusedMs ? missedBeatMs : SILENCE_MS;
      if (isSilent(lastSeenMs, limitMs) && !isLinkOpen(hubId)) silent.push(presence);
    }
    for (const { hub, sinceMs } of this.#unseen.values()) {
      // A link is one to the latest life.
      const isLinked = !this.#present.has(hub.hubId) && isLinkOpen(hub.hubId);
      if (isSilent(sinceMs) && !isLinked) silent.push(hub);
    }
    for (const hub of silent) this.#bury(hub);
    return silent.map(({ hubId, bootId }) => ({ hubId, bootId }));
  }

  /** Whether a hub has missed a beat: it may be dead, as another hub says. */
  hasMissedBeat({ hubId, bootId }: HubIdentity, nowMs: number): boolean {
    const present = this.#present.get(hubId);
    if (present?.presence.bootId !== bootId) return true;
    return nowMs - present.lastSeenMs > missedBeatMs;
  }

  /**
   * Whether this life of a hub is over. One that was never heard of, but owns an entry, may have died before this hub
   * started, or may be about to announce itself: it counts as silent from now on.
   */
  isDead(hub: HubIdentity, nowMs: number): boolean {
    const { hubId, bootId } = hub;
    if (hubId === this.#own.hubId) return bootId !== this.#own.bootId;
    const key = lifeKey(hub);
    if (this.#dead.has(key)) return true;
    if (this.#present.get(hubId)?.presence.bootId === bootId) return false;
    if (!this.#unseen.has(key)) this.#unseen.set(key, { hub: { hubId, bootId }, sinceMs: nowMs });
    return false;
  }

  /** Whether a hub runs on the same computer as this one: its links end at a loopback address. */
  isOnThisComputer(hubId: string): boolean {
    const url = URL.parse(this.get(hubId)?.linkUrl ?? "");
    return url !== null && isLoopbackHost(url.hostname);
  }

  get(hubId: string): HubPresence | undefined {
    return this.#present.get(hubId)?.presence;
  }

  /** Those that announced themselves and are not dead, by id. */
  list(): HubPresence[] {
    const presences = [...this.#present.values()].map(({ presence }) => presence);
    return presences.sort((one, other) => (one.hubId < other.hubId ? -1 : 1));
  }

  #bury(hub: HubIdentity): void {
    const key = lifeKey(hub);
    if (this.get(hub.hubId)?.bootId === hub.bootId) this.#present.delete(hub.hubId);
    this.#unseen.delete(key);
    this.#dead.add(key);
    if (this.#dead.size <= maxRemembered) return;
    const [oldest] = this.#dead;
    if (oldest !== undefined) this.#dead.delete(oldest);
  }
}

function lifeKey({ hubId, bootId }: HubIdentity): string {
  return `${hubId} ${bootId}`;
}
