import type { Transport } from "../transport/transport.ts";
import { encodeFrame } from "../wire/frame-writer.ts";
import { FRAME_TYPES } from "../wire/frame.ts";
import { encodeHello } from "../wire/hello.ts";
import type { Hello } from "../wire/hello.ts";
import { badResume } from "../wire/resume.ts";
import type { ResumePoint } from "../wire/resume.ts";
import { isLoneAck, Outbox } from "./outbox.ts";
import type { OutboxOptions } from "./outbox.ts";
import { Receipts } from "./receipts.ts";

/**
 * What lets a session go on over another connection: which messages arrived, and those that may have to be sent again.
 * Keeps nothing and counts nothing unless both sides offer to resume.
 */
export class Continuity {
  readonly outbox: Outbox;
  readonly #receipts = new Receipts(() => this.outbox.sendAck(this.#receipts.take()));
  #isAgreed = false;
  #isGivenUp = false;

  constructor(transport: Transport, options: OutboxOptions) {
    this.outbox = new Outbox(transport, options);
  }

  /** Both sides offer to resume, and what this side sent is kept until it is acknowledged. */
  get mayResume(): boolean {
    return this.#isAgreed && !this.#isGivenUp;
  }

  /** The peer acknowledges nothing: what is sent is not kept any more. */
  giveUp(): void {
    this.#isGivenUp = true;
    this.outbox.keepNothing();
  }

  /** Known with both HELLOs. */
  agree(isAgreed: boolean): void {
    this.#isAgreed = isAgreed;
    if (!isAgreed) this.outbox.keepNothing();
  }

  /** Where this side is; what its transport brings after this must not be read. */
  get point(): ResumePoint {
    return { received: this.#receipts.received, sent: (this.outbox.log?.sent ?? 0) >>> 0 };
  }

  /** The message that is read now may be one that did not arrive the first time. */
  get isReadingResent(): boolean {
    return this.#receipts.isResent;
  }

  /** A message after HELLO was processed. */
  noteReceived(message: Buffer): void {
    if (this.#isAgreed && !isLoneAck(message)) this.#receipts.add(message.length);
  }

  /** The count to send along with other frames; undefined when the peer has it. */
  takeDueCount(): number | undefined {
    return this.#isAgreed && this.#receipts.isDue ? this.#receipts.take() : undefined;
  }

  /**
   * @param count - modulo 2³²: messages that the peer has processed
   * @returns false when the peer had no reason to say so
   * @throws {ProtocolError} 4002 for a count that cannot be
   */
  acknowledge(count: number): boolean {
    const { log } = this.outbox;
    if (this.#isGivenUp) return true;
    if (!this.#isAgreed || log === undefined) return false;
    // It was right when its message was sent for the first time.
    if (!this.isReadingResent) log.acknowledge(count);
    return true;
  }

  /**
   * @returns false when messages that the peer lacks are gone
   * @throws {ProtocolError} 4002 for counts that cannot be
   */
  canResume(peer: ResumePoint): boolean {
    const { log } = this.outbox;
    if (!this.#isAgreed || log === undefined) return false;
    this.#receipts.missing(peer.sent);
    return log.after(peer.received) !== undefined;
  }

  /** The connection is gone. */
  detach(): void {
    this.outbox.detach();
    this.#receipts.stop();
  }

  /**
   * Sends again what the peer lacks, before all else.
   *
   * @param peer - for which {@link canResume} was true
   * @param reply - HELLO, where this side has not sent it on this connection
   */
  attach(transport: Transport, peer: ResumePoint, reply: Hello | undefined): void {
    const { log } = this.outbox;
    const lacking = log?.after(peer.received);
    if (log === undefined || lacking === undefined) throw badResume("messages are gone");
    if (reply !== undefined) {
      const hello = { ...reply, resume: { ...reply.resume, ...this.point } };
      transport.send(encodeFrame(FRAME_TYPES.hello, encodeHello(hello)));
    }
    log.acknowledge(peer.received);
    this.#receipts.expectResent(peer.sent);
    this.outbox.attach(transport, lacking);
  }

  end(): void {
    this.#receipts.stop();
    this.outbox.keepNothing();
  }
}
