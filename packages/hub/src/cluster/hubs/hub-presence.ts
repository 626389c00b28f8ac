import type { HubIdentity } from "../../domain/participant.ts";

/** What a hub says of itself to the others, every 3 s. */
export interface HubPresence extends HubIdentity {
  /** where clients and participants reach it */
  advertiseUrl: string;
  /** where other hubs reach it */
  linkUrl: string;
  version: string;
  /** epoch ms */
  startedAt: number;
  /** that it owns */
  participants: number;
  /** counts up; the time of a beat is when it is received */
  beat: number;
  /** a subscriber of it reads events of detail */
  wantsDetail: boolean;
  /** of what it tells over links of the rooms that are watched at it; absent from a hub that does not */
  watchRevision?: number;
  isDraining: boolean;
}

/** Says to the other hubs what this one is, and at once what cannot wait for the next beat. */
export class OwnPresence {
  readonly #write: (presence: () => HubPresence) => void;
  readonly #now: () => Omit<HubPresence, "beat">;
  #beat = 0;
  #isAnnounced = false;
  /** The others know that a stream with detail is open here. */
  #saidDetail = false;

  /**
   * @param write - at once, and at each beat from then on
   * @param now - what this hub is
   */
  constructor(write: (presence: () => HubPresence) => void, now: () => Omit<HubPresence, "beat">) {
    this.#write = write;
    this.#now = now;
  }

  get isAnnounced(): boolean {
    return this.#isAnnounced;
  }

  announce(): void {
    this.#isAnnounced = true;
    this.#write(() => this.#next());
  }

  /** A stream with detail is open here. Written once between two beats, however many open and end. */
  detailWatched(): void {
    if (this.#isAnnounced && !this.#saidDetail) this.announce();
  }

  #next(): HubPresence {
    const now = this.#now();
    this.#saidDetail = now.wantsDetail;
    return { ...now, beat: ++this.#beat };
  }
}
