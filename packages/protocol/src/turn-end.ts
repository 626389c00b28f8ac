import type { World } from "./world.ts";

/** Something to send that waits for the end of the turn. */
export interface Sending {
  send(): void;
}

/**
 * Sends once everything was read that had arrived. Each write wakes the other end; one that is awake already, for a write
 * before, is not woken again, and its next messages come together.
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
