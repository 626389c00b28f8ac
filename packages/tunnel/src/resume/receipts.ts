import type { Timer, World } from "@roomhub/protocol";
import { badResume, COUNT_RANGE } from "../wire/resume.ts";

const ACK_AFTER_BYTES = 64 * 1024;
const ACK_AFTER_MS = 500;

/** Counts the messages that are received, and says when to acknowledge them. */
export class Receipts {
  readonly #world: World;
  readonly #acknowledge: () => void;
  #received = 0;
  #acknowledged = 0;
  #unacknowledgedBytes = 0;
  /** Messages up to this number are resent ones. */
  #resentUntil = 0;
  #timer: Timer | undefined;
  readonly #onTimer = (): void => {
    this.#timer = undefined;
    if (this.#acknowledged < this.#received) this.#acknowledge();
  };

  /** @param acknowledge - called when an ACK of its own is due; gets the count with {@link take} */
  constructor(world: World, acknowledge: () => void) {
    this.#world = world;
    this.#acknowledge = acknowledge;
  }

  /** Messages processed so far, modulo 2³². */
  get received(): number {
    return this.#received % COUNT_RANGE;
  }

  /** The message that is read now was sent before the tunnel was resumed, perhaps twice. */
  get isResent(): boolean {
    return this.#received < this.#resentUntil;
  }

  /** A message was processed. */
  add(bytes: number): void {
    this.#received += 1;
    this.#unacknowledgedBytes += bytes;
    if (this.#unacknowledgedBytes >= ACK_AFTER_BYTES) return this.#acknowledge();
    this.#timer ??= this.#world.unref(this.#world.setTimeout(this.#onTimer, ACK_AFTER_MS));
  }

  get isDue(): boolean {
    return this.#acknowledged < this.#received;
  }

  /** The count to send now, modulo 2³². */
  take(): number {
    this.#acknowledged = this.#received;
    this.#unacknowledgedBytes = 0;
    return this.received;
  }

  /** A timer that finds nothing to acknowledge costs less than one for each message. */
  stop(): void {
    this.#world.clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /**
   * @param sent - modulo 2³²: messages that the other end had sent when it resumed
   * @throws {ProtocolError} 4002 for fewer than were received
   */
  expectResent(sent: number): void {
    this.#resentUntil = this.#received + this.missing(sent);
    this.take();
  }

  /** How many messages the other end has sent that were not received. */
  missing(sent: number): number {
    const missing = (sent - this.received + COUNT_RANGE) % COUNT_RANGE;
    if (missing > COUNT_RANGE / 2) throw badResume(`${sent} messages sent, more were received`);
    return missing;
  }
}
