import { HubError } from "../../errors.ts";
import type { BodyBudget } from "../../inference/body-budget.ts";

/** A client's control frame is this much longer than its payload: head and mask. RFC 6455 §5.2 */
const controlFrameBytes = 6;

/**
 * The bytes of a message on its way in. `ws` collects them unseen, so they are counted as they pass: against what the hub
 * may hold, and against the time a body may take. Contract §6.
 */
export class MessageIntake {
  readonly #bodies: BodyBudget;
  readonly #limits: { bodyIdleMs: number; bodyReadMs: number };
  #bytes = 0;
  #beganMs = 0;
  #lastMs = 0;

  constructor(bodies: BodyBudget, limits: { bodyIdleMs: number; bodyReadMs: number }) {
    this.#bodies = bodies;
    this.#limits = limits;
  }

  /** Before `ws` has seen them. @throws HubError `hub_overloaded` */
  received(bytes: number, nowMs: number): void {
    this.#bodies.hold(bytes);
    if (this.#bytes === 0) this.#beganMs = nowMs;
    this.#bytes += bytes;
    this.#lastMs = nowMs;
  }

  /** Some of them were a ping or a pong. */
  hadControlFrame(payloadBytes: number): void {
    this.#release(Math.min(this.#bytes, payloadBytes + controlFrameBytes));
  }

  /** They were a message, which is whole: from here on its bytes are counted by its new holder. */
  hadMessage(): void {
    this.#release(this.#bytes);
  }

  /** @returns `request_read_timeout` when a message takes too long; undefined when none does */
  overdue(nowMs: number): HubError | undefined {
    const { bodyIdleMs, bodyReadMs } = this.#limits;
    const isLate = nowMs - this.#lastMs > bodyIdleMs || nowMs - this.#beganMs > bodyReadMs;
    if (this.#bytes === 0 || !isLate) return undefined;
    return new HubError("request_read_timeout", "The message did not arrive in time.");
  }

  #release(bytes: number): void {
    this.#bodies.release(bytes);
    this.#bytes -= bytes;
  }
}
