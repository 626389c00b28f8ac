import type { HubIdentity } from "../../domain/hub-identity.ts";

/** What a hub says of itself to the others, every 3 s. */
export interface HubPresence extends HubIdentity {
  /** where clients and participants reach it */
  advertiseUrl: string;
  /** where other hubs reach it */
  linkUrl: string;
  version: string;
  /** epoch ms */
  startedAt: number;
  /** of the rooms that have their home there */
  participants: number;
  /** counts up; the time of a beat is when it is received */
  beat: number;
  isDraining: boolean;
}

/** Says to the other hubs what this one is, and at once what cannot wait for the next beat. */
export class OwnPresence {
  readonly #write: (presence: () => HubPresence) => void;
  readonly #now: () => Omit<HubPresence, "beat">;
  #beat = 0;
  #isAnnounced = false;

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

  #next(): HubPresence {
    return { ...this.#now(), beat: ++this.#beat };
  }
}
