import { withinMs } from "../../within.ts";
import type { EventBridge } from "./event-bridge.ts";
import type { OwnWatches } from "./own-watches.ts";

/** A hub that is far or busy must not keep a watcher waiting for longer. Contract §8, "Events". */
const longestWaitMs = 250;

export interface RoomWatchesOptions {
  bridge: Pick<EventBridge, "watch" | "unwatch">;
  ownWatches: Pick<OwnWatches, "watched" | "unwatched">;
  /** Resolves once the bus and the other hubs have taken in what they were told before. May reject. */
  heard: () => Promise<unknown>;
  /** The first stream with detail came. */
  detailWatched: () => void;
}

/** What the watchers of this hub are to the cluster: events of the other hubs are brought here while there are any. */
export class RoomWatches {
  readonly #options: RoomWatchesOptions;
  readonly #unheard = new Map<string | undefined, Promise<void>>();

  constructor(options: RoomWatchesOptions) {
    this.#options = options;
  }

  watched(roomCode: string | undefined): void {
    const { bridge, ownWatches, heard } = this.#options;
    bridge.watch(roomCode);
    ownWatches.watched(roomCode);
    const answered = heard().then(
      () => undefined,
      () => undefined,
    );
    const unheard = withinMs(answered, longestWaitMs).then(() => {
      if (this.#unheard.get(roomCode) === unheard) this.#unheard.delete(roomCode);
    });
    this.#unheard.set(roomCode, unheard);
  }

  unwatched(roomCode: string | undefined): void {
    this.#unheard.delete(roomCode);
    this.#options.bridge.unwatch(roomCode);
    this.#options.ownWatches.unwatched(roomCode);
  }

  detailWatched(): void {
    this.#options.detailWatched();
  }

  /** Until what happens at other hubs reaches the watchers of the room here; undefined when it does. Never rejects. */
  untilHeard(roomCode: string | undefined): Promise<void> | undefined {
    return this.#unheard.get(roomCode);
  }
}
