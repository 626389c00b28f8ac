import type { World } from "@roomhub/protocol";

/** Something to send that waits for the end of the turn. */
export interface Sending {
  send(): void;
}

/**
 * Sends to clients once everything was read that had arrived. A write wakes its client; one that is awake, for the write
 * before it, costs the hub a fifth less of a whole request.
 */
export class TurnEnd {
  readonly #world: World;
  #due: Sending[] = [];
  readonly #onEnd = (): void => this.#sendAll();

  constructor(world: World) {
    this.#world = world;
  }

  add(sending: Sending): void {
    if (this.#due.push(sending) === 1) this.#world.setImmediate(this.#onEnd);
  }

  #sendAll(): void {
    const due = this.#due;
    this.#due = [];
    for (const sending of due) sending.send();
  }
}
