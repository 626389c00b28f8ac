import type { WatchNotice } from "./watch-notice.ts";

export interface WatchLinks {
  openHubIds(): readonly string[];
  /** @returns false when it was dropped */
  notify(hubId: string, notice: WatchNotice): boolean;
}

/** Their codes fit into one notice of 64 KiB. A hub that watches more watches all. */
const mostRooms = 2_000;

/** Tells the other hubs which rooms are watched at this one, so that they send no events in vain. */
export class OwnWatches {
  readonly #links: WatchLinks;
  readonly #rooms = new Set<string>();
  /** hubs that missed a notice */
  readonly #behind = new Set<string>();
  #isHubWatched = false;
  #revision = 0;

  constructor(links: WatchLinks) {
    this.#links = links;
  }

  /** Of what was told last. */
  get revision(): number {
    return this.#revision;
  }

  /** The first watcher came, of the room or, with undefined, of the whole hub. */
  watched(roomCode: string | undefined): void {
    this.#change("watch", roomCode, () => {
      if (roomCode === undefined) this.#isHubWatched = true;
      else this.#rooms.add(roomCode);
    });
  }

  /** The last watcher has left. */
  unwatched(roomCode: string | undefined): void {
    this.#change("unwatch", roomCode, () => {
      if (roomCode === undefined) this.#isHubWatched = false;
      else this.#rooms.delete(roomCode);
    });
  }

  /** It knows nothing yet. */
  linkOpened(hubId: string): void {
    this.#send(hubId, this.#whole());
  }

  /** Hubs that missed a notice get all again. */
  tick(): void {
    if (this.#behind.size === 0) return;
    const open = new Set(this.#links.openHubIds());
    for (const hubId of [...this.#behind]) {
      this.#behind.delete(hubId);
      if (open.has(hubId)) this.#send(hubId, this.#whole());
    }
  }

  get #isAll(): boolean {
    return this.#isHubWatched || this.#rooms.size > mostRooms;
  }

  #change(kind: "watch" | "unwatch", roomCode: string | undefined, apply: () => void): void {
    const wasAll = this.#isAll;
    apply();
    const isAll = this.#isAll;
    if (wasAll && isAll) return;
    const revision = ++this.#revision;
    const isOne = roomCode !== undefined && wasAll === isAll;
    const notice = isOne ? ({ kind, revision, roomCode } as const) : this.#whole();
    for (const hubId of this.#links.openHubIds()) this.#send(hubId, notice);
  }

  #send(hubId: string, notice: WatchNotice): void {
    if (!this.#links.notify(hubId, notice)) this.#behind.add(hubId);
  }

  #whole(): WatchNotice {
    const revision = this.#revision;
    if (this.#isAll) return { kind: "watches", revision };
    return { kind: "watches", revision, rooms: [...this.#rooms] };
  }
}
