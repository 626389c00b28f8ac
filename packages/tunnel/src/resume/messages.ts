import type { World, Timer } from "@roomhub/protocol";
import type { Transport } from "../transport/transport.ts";
import { encodeFrame, type MessageSink } from "../wire/frame-writer.ts";
import { FRAME_HEADER_BYTES, FRAME_TYPES, writeFrameHeader } from "../wire/frame.ts";
import { encodeHello, type Hello } from "../wire/hello.ts";
import { badResume, type ResumePoint, COUNT_RANGE } from "../wire/resume.ts";
import { type LogBudget, SentLog } from "./sent-log.ts";

/** With so many bytes unacknowledged, body bytes wait. */
const FULL_LOG_BYTES = 8 * 1024 * 1024;
/** With more bytes unsent, body bytes wait, and no request is begun. */
const MAX_UNSENT_BYTES = 4 * 1024 * 1024;
const ACK_BYTES = FRAME_HEADER_BYTES + 4;

/** A message of a single ACK is neither counted nor kept, or each one would call for another. */
function isLoneAck(message: Buffer): boolean {
  return message.length === ACK_BYTES && message[0] === FRAME_TYPES.ack;
}

export interface MessagesOptions {
  world: World;
  /** Of the logs of all sessions; undefined for none. */
  budget: LogBudget | undefined;
  onSlabReleased: (slab: ArrayBufferLike) => void;
  /** The other end reads too slowly for another request, or fast enough again. */
  onCongestion: (isCongested: boolean) => void;
}

/**
 * The messages of one session, over all its connections: those sent go to the transport of the moment and are kept until
 * they are acknowledged; those received are counted. Keeps and counts nothing unless both ends offer to resume.
 */
export class Messages implements MessageSink {
  readonly #options: MessagesOptions;
  readonly #receipts: Receipts;
  /** undefined while the session is interrupted: what is sent is only kept */
  #transport: Transport | undefined;
  #log: SentLog | undefined;
  #isAgreed = false;
  #hasStoppedKeeping = false;
  #hasSentHello = false;
  #isCongested = false;
  #sentBytes = 0;
  #noticedTakenBytes = 0;

  constructor(transport: Transport, options: MessagesOptions) {
    this.#transport = transport;
    this.#options = options;
    this.#receipts = new Receipts(options.world, () => this.#sendAck(this.#receipts.take()));
  }

  get isClear(): boolean {
    return (this.#log?.isEmpty ?? true) && this.#transport?.bufferedBytes === 0;
  }

  get isFull(): boolean {
    return this.#isCongested || (this.#log?.bytes ?? 0) >= FULL_LOG_BYTES;
  }

  /** The other end reads too slowly, or not at all. */
  get isCongested(): boolean {
    return this.#isCongested;
  }

  /** undefined when nothing is kept: the session cannot be resumed. */
  get log(): SentLog | undefined {
    return this.#log;
  }

  /** The other end has acknowledged what this end sent, as far as that is kept. */
  get isAcknowledged(): boolean {
    return this.#log?.isEmpty !== false;
  }

  /** Both ends offer to resume, and what this end sent is kept until it is acknowledged. */
  get mayResume(): boolean {
    return this.#isAgreed && !this.#hasStoppedKeeping;
  }

  /** How far this end is; what its transport still delivers after this must not be read. */
  get point(): ResumePoint {
    return { received: this.#receipts.received, sent: (this.#log?.sent ?? 0) >>> 0 };
  }

  /** The message that is read now may be one that did not arrive the first time. */
  get isReadingResent(): boolean {
    return this.#receipts.isResent;
  }

  send(message: Buffer, isFollowed = false): void {
    // An ACK that did not fit into the message before it is alone, too.
    if (this.#log !== undefined && this.#hasSentHello && !isLoneAck(message))
      this.#log.push(message);
    this.#hasSentHello = true;
    this.#sentBytes += message.length;
    this.#transport?.send(message, isFollowed);
    this.noteUnsent();
  }

  /** Bytes were sent, or have left. */
  noteUnsent(): void {
    const isCongested = (this.#transport?.bufferedBytes ?? 0) > MAX_UNSENT_BYTES;
    if (isCongested === this.#isCongested) return;
    this.#isCongested = isCongested;
    this.#options.onCongestion(isCongested);
  }

  /** Nothing is unsent, or the transport has taken bytes since the last call. */
  takeProgress(): boolean {
    const unsentBytes = this.#transport?.bufferedBytes ?? 0;
    const takenBytes = this.#sentBytes - unsentBytes;
    const before = this.#noticedTakenBytes;
    this.#noticedTakenBytes = takenBytes;
    return unsentBytes === 0 || takenBytes > before;
  }

  /** A message after HELLO was processed. */
  noteReceived(message: Buffer): void {
    if (this.#isAgreed && !isLoneAck(message)) this.#receipts.add(message.length);
  }

  /** The count to send along with other frames; undefined when the other end has it. */
  takeDueCount(): number | undefined {
    return this.#isAgreed && this.#receipts.isDue ? this.#receipts.take() : undefined;
  }

  /** Keeps what is sent from now on, without the message that begins with HELLO. */
  keep(): void {
    if (this.#log !== undefined) return;
    const { budget, onSlabReleased } = this.#options;
    this.#log = new SentLog(onSlabReleased, budget);
    budget?.add(this.#log);
  }

  /** Known with both HELLOs. */
  agree(isAgreed: boolean): void {
    this.#isAgreed = isAgreed;
    if (!isAgreed) this.#keepNothing();
  }

  /** The other end acknowledges nothing: the session cannot be resumed from now on. */
  stopKeeping(): void {
    this.#hasStoppedKeeping = true;
    this.#keepNothing();
  }

  /**
   * @param count - modulo 2³²: messages that the other end has processed
   * @returns false when the other end had no reason to say so
   * @throws {ProtocolError} 4002 for a count that cannot be
   */
  acknowledge(count: number): boolean {
    if (this.#hasStoppedKeeping) return true;
    if (!this.#isAgreed || this.#log === undefined) return false;
    // A resent count was right when its message was sent for the first time.
    if (!this.isReadingResent) this.#log.acknowledge(count);
    return true;
  }

  /**
   * @returns false when messages that the other end lacks are no longer kept
   * @throws {ProtocolError} 4002 for counts that cannot be
   */
  canResume(other: ResumePoint): boolean {
    if (!this.#isAgreed || this.#log === undefined) return false;
    this.#receipts.missing(other.sent);
    return this.#log.after(other.received) !== undefined;
  }

  /** The connection is lost. */
  interrupt(): void {
    this.#transport = undefined;
    this.noteUnsent();
    this.#receipts.stop();
  }

  /**
   * Sends again what the other end lacks, before anything else.
   *
   * @param other - for which {@link canResume} was true
   * @param reply - HELLO, where this end has not sent it on this connection
   */
  resume(transport: Transport, other: ResumePoint, reply: Hello | undefined): void {
    const lacking = this.#log?.after(other.received);
    if (lacking === undefined) throw badResume("messages are gone");
    if (reply !== undefined) {
      const hello = { ...reply, resume: { ...reply.resume, ...this.point } };
      transport.send(encodeFrame(FRAME_TYPES.hello, encodeHello(hello)));
    }
    this.#log?.acknowledge(other.received);
    this.#receipts.expectResent(other.sent);
    this.#transport = transport;
    this.#sentBytes = 0;
    this.#noticedTakenBytes = 0;
    for (const message of lacking) {
      this.#sentBytes += message.length;
      transport.send(message);
    }
    this.noteUnsent();
  }

  end(): void {
    this.#receipts.stop();
    this.#keepNothing();
  }

  #keepNothing(): void {
    if (this.#log === undefined) return;
    this.#log.clear();
    this.#options.budget?.delete(this.#log);
    this.#log = undefined;
  }

  /** At once, in a message of its own. @param count - modulo 2³² */
  #sendAck(count: number): void {
    if (this.#transport === undefined) return;
    const message = Buffer.allocUnsafe(ACK_BYTES);
    writeFrameHeader(message, 0, FRAME_TYPES.ack, 0, 4);
    message.writeUInt32BE(count, FRAME_HEADER_BYTES);
    this.#transport.send(message);
  }
}

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
