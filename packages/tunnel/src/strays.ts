import { CLOSE_CODES } from "./wire/close-code.ts";
import { ProtocolError } from "./wire/protocol-error.ts";

/** A correct peer sends at most what was in flight when its stream ended; 10,000 in a second is abuse. */
const MAX_STRAYS_PER_TICK = 10_000;

/** What a correct peer may send in vain now and then, and another one as a flood. */
export class Strays {
  #lateFrames = 0;
  #refusals = 0;

  /** Called about once a second. */
  tick(): void {
    this.#lateFrames = 0;
    this.#refusals = 0;
  }

  /** A frame of a finished stream. @throws {ProtocolError} 4008 for a flood */
  countLateFrame(): void {
    this.#lateFrames += 1;
    if (this.#lateFrames <= MAX_STRAYS_PER_TICK) return;
    throw new ProtocolError(CLOSE_CODES.abuse, "flood of frames for finished streams");
  }

  /**
   * A stream refused because the agent is at capacity. A hub that did not wait for a confirmed RESET may exceed the limit.
   *
   * @throws {ProtocolError} 4006 for a flood
   */
  countRefusal(): void {
    this.#refusals += 1;
    if (this.#refusals <= MAX_STRAYS_PER_TICK) return;
    throw new ProtocolError(CLOSE_CODES.tooManyStreams, "flood of streams over the limit");
  }
}
