import type { HubEntry } from "@roomhub/protocol";
import type { HubIdentity } from "../../domain/hub-identity.ts";
import type { Log } from "../../log.ts";
import { advertisedUrls, hubList, type HubListSources } from "./hub-list.ts";
import { type HubPresence, OwnPresence } from "./hub-presence.ts";
import { Hubs } from "./hubs.ts";
import { Namesakes, warnOfNamesake } from "./namesakes.ts";

type HubUrls = Pick<HubPresence, "advertiseUrl" | "linkUrl">;

/** What this hub says of itself beside its names and URLs. */
type OwnFacts = Omit<HubPresence, keyof HubIdentity | keyof HubUrls | "startedAt" | "beat">;

export interface RollCallOptions {
  self: HubIdentity;
  /** epoch ms */
  startedAt: number;
  /** Says it at once, and with each beat from then on. */
  announce: (presence: () => HubPresence) => void;
  facts: () => OwnFacts;
  links: HubListSources["links"] & {
    hubPresent: (presence: HubPresence) => void;
    /** in order: what runs at it may finish */
    hubLeft: (hubId: string) => void;
    hubGone: (hubId: string) => void;
    /** for how long that hub has refused each dial, after its socket was reset; 0 otherwise */
    refusedForMs?: (hubId: string) => number;
  };
  log: Log;
  nowMs: () => number;
}

/** Which hubs there are: what this one says of itself, what the others say, and which of them are dead. */
export class RollCall {
  readonly hubs: Hubs;
  readonly #options: RollCallOptions;
  readonly #namesakes: Namesakes;
  readonly #presence: OwnPresence;
  #urls: HubUrls | undefined;

  constructor(options: RollCallOptions) {
    const { self, startedAt, announce, facts } = options;
    this.#options = options;
    this.hubs = new Hubs(self);
    this.#namesakes = new Namesakes(self);
    this.#presence = new OwnPresence(announce, () => ({
      ...{ ...self, advertiseUrl: "", linkUrl: "", ...this.#urls, startedAt },
      ...facts(),
    }));
  }

  /** undefined before {@link announce} */
  get ownUrl(): string | undefined {
    return this.#urls?.advertiseUrl || undefined;
  }

  /** The other hubs know this one. */
  get isAnnounced(): boolean {
    return this.#presence.isAnnounced;
  }

  /** Says now what this hub is. @param urls - as before when left out */
  announce(urls: HubUrls | undefined = this.#urls): void {
    this.#urls = urls;
    this.#presence.announce();
  }

  /** A beat of another hub, or with undefined its end. */
  seen(hubId: string, presence: HubPresence | undefined): void {
    const { links, nowMs } = this.#options;
    if (presence === undefined) {
      this.hubs.left(hubId);
      links.hubLeft(hubId);
      return;
    }
    // What is stored under this hub's id before it announces itself is of its life before.
    if (this.isAnnounced) this.#namesakes.heard(presence, nowMs());
    this.hubs.seen(presence, nowMs());
    links.hubPresent(presence);
  }

  /** Warns of hubs that run under one id. */
  tellNamesakes(): void {
    const { log, nowMs } = this.#options;
    for (const news of this.#namesakes.takeNews(nowMs())) warnOfNamesake(log, news);
  }

  /** Closes the links to hubs that are silent. @param directoryUpSinceMs - undefined: none can be judged */
  judge(directoryUpSinceMs: number | undefined): void {
    const { links, nowMs } = this.#options;
    const isLinkOpen = (hubId: string) => links.isOpen(hubId);
    const refusedForMs = (hubId: string) => links.refusedForMs?.(hubId) ?? 0;
    const sight = { nowMs: nowMs(), directoryUpSinceMs, isLinkOpen, refusedForMs };
    for (const { hubId } of this.hubs.judge(sight)) links.hubGone(hubId);
  }

  /** Whether a hub may be dead, as another hub says: it has missed a beat, and no link to it responds. */
  isQuiet(hub: HubIdentity): boolean {
    const { links, nowMs } = this.#options;
    return this.hubs.hasMissedBeat(hub, nowMs()) && !links.isOpen(hub.hubId);
  }

  isDead(hub: HubIdentity): boolean {
    const nowMs = this.#options.nowMs();
    return !this.#namesakes.isAlive(hub, nowMs) && this.hubs.isDead(hub, nowMs);
  }

  /** This hub first, the others by id. */
  list(): HubEntry[] {
    const { self, facts, links } = this.#options;
    const { version, participants, isDraining } = facts();
    const own = { ...self, url: this.ownUrl ?? "", version, participants, isDraining };
    return hubList({ own, others: this.hubs.list(), links, namesakes: this.#namesakes });
  }

  /** Where the hubs of the cluster take participants, this one first. At most 16. */
  advertisedUrls(): string[] {
    return advertisedUrls(this.ownUrl, this.hubs.list());
  }
}
