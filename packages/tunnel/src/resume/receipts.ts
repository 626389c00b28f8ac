import { badResume, COUNT_RANGE } from "../wire/resume.ts";

const ACK_AFTER_BYTES = 64 * 1024;
const ACK_AFTER_MS = 500;

/** Counts the messages of the peer, and says when to acknowledge them. */
export class Receipts {
  readonly #acknowledge: () => void;
  #received = 0;
  /** what the peer was told */
  #told = 0;
  #untoldBytes = 0;
  /** Messages up to this number are resent ones. */
  #resentUntil = 0;
  #timer: NodeJS.Timeout | undefined;
  readonly #onTimer = (): void => {
    this.#timer = undefined;
    if (this.#told < this.#received) this.#acknowledge();
  };

  /** @param acknowledge - called when a message of its own is due; takes the count with {@link take} */
  constructor(acknowledge: () => void) {
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
    this.#untoldBytes += bytes;
    if (this.#untoldBytes >= ACK_AFTER_BYTES) return this.#acknowledge();
    this.#timer ??= setTimeout(this.#onTimer, ACK_AFTER_MS).unref();
  }

  get isDue(): boolean {
    return this.#told < this.#received;
  }

  /** The count to send now, modulo 2³². */
  take(): number {
    this.#told = this.#received;
    this.#untoldBytes = 0;
    return this.received;
  }

  /** The timer may have nothing to say then: that costs less than one for each message. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /**
   * @param sent - modulo 2³²: messages that the peer had sent when it resumed
   * @throws {ProtocolError} 4002 for fewer than were received
   */
  expectResent(sent: number): void {
    this.#resentUntil = this.#received + this.missing(sent);
    this.take();
  }

  /** How many messages the peer has sent that were not received. */
  missing(sent: number): number {
    const missing = (sent - this.received + COUNT_RANGE) % COUNT_RANGE;
    if (missing > COUNT_RANGE / 2) throw badResume(`${sent} messages sent, more were received`);
    return missing;
  }
}
