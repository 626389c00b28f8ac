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
}

interface PresentHub {
  presence: HubPresence;
  /** ms, monotonic */
  lastSeenMs: number;
  /** undefined while nothing speaks against its life */
  doubt: Doubt | undefined;
}

/** A hub's control socket was reset, or a dial was refused, and none has succeeded since. */
interface Doubt {
  /** ms, monotonic: the first and the last refused dial; undefined before the first */
  refused: { firstMs: number; lastMs: number } | undefined;
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
    const before = this.#present.get(hubId);
    if (before !== undefined && before.presence.bootId !== bootId) {
      // Two hubs with one id take turns: the younger one counts. One whose clock was set back is no other hub.
      const isBeating = nowMs - before.lastSeenMs <= missedBeatMs;
      if (before.presence.startedAt > startedAt && isBeating) return;
      this.#bury(before.presence);
    }
    this.#dead.delete(lifeKey(presence));
    this.#unseen.delete(lifeKey(presence));
    const doubt = this.#present.get(hubId)?.doubt;
    this.#present.set(hubId, { presence, lastSeenMs: nowMs, doubt });
  }

  /**
   * The control socket to it was reset: requests for its rooms wait. The caller dials again at least every 0.5 s, until the
   * hub is reached or dead.
   */
  reset(hubId: string): void {
    this.#doubt(hubId);
  }

  /** It refused a dial, which counts as a reset. */
  refused(hubId: string, nowMs: number): void {
    const doubt = this.#doubt(hubId);
    if (doubt !== undefined)
      doubt.refused = { firstMs: doubt.refused?.firstMs ?? nowMs, lastMs: nowMs };
  }

  /** A control socket to it is open. */
  reached(hubId: string): void {
    const present = this.#present.get(hubId);
    if (present !== undefined) present.doubt = undefined;
  }

  isDoubted(hub: HubIdentity): boolean {
    return this.#ofLife(hub)?.doubt !== undefined;
  }

  isRefused(hub: HubIdentity): boolean {
    return this.#ofLife(hub)?.doubt?.refused !== undefined;
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
  judge({ nowMs, directoryUpSinceMs, isLinkOpen }: Sight): HubIdentity[] {
    if (directoryUpSinceMs === undefined) return [];
    const isSilent = (sinceMs: number, limitMs = SILENCE_MS) =>
      nowMs - Math.max(sinceMs, directoryUpSinceMs) > limitMs;
    const silent: HubIdentity[] = [];
    for (const [hubId, { presence, lastSeenMs, doubt }] of this.#present) {
      const { firstMs, lastMs } = doubt?.refused ?? { firstMs: 0, lastMs: 0 };
      const limitMs = lastMs - firstMs >= refusedMs ? missedBeatMs : SILENCE_MS;
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
  hasMissedBeat(hub: HubIdentity, nowMs: number): boolean {
    const present = this.#ofLife(hub);
    return present === undefined || nowMs - present.lastSeenMs > missedBeatMs;
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
    if (this.isPresent(hub)) return false;
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

  /** Whether this life of it announced itself and is not dead. */
  isPresent(hub: HubIdentity): boolean {
    return this.#ofLife(hub) !== undefined;
  }

  /** Those that announced themselves and are not dead, by id. */
  list(): HubPresence[] {
    const presences = [...this.#present.values()].map(({ presence }) => presence);
    return presences.sort((one, other) => (one.hubId < other.hubId ? -1 : 1));
  }

  #ofLife({ hubId, bootId }: HubIdentity): PresentHub | undefined {
    const present = this.#present.get(hubId);
    return present?.presence.bootId === bootId ? present : undefined;
  }

  #doubt(hubId: string): Doubt | undefined {
    const present = this.#present.get(hubId);
    if (present === undefined) return undefined;
    return (present.doubt ??= { refused: undefined });
  }

  #bury(hub: HubIdentity): void {
    const key = lifeKey(hub);
    if (this.isPresent(hub)) this.#present.delete(hub.hubId);
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
