import type { Transport } from "../transport/transport.ts";
import type { MessageSink } from "../wire/frame-writer.ts";
import { FRAME_HEADER_BYTES, FRAME_TYPES, writeFrameHeader } from "../wire/frame.ts";
import type { LogBudget } from "./log-budget.ts";
import { SentLog } from "./sent-log.ts";

/** With so many bytes unacknowledged, body bytes wait. */
const FULL_LOG_BYTES = 8 * 1024 * 1024;
/** With more bytes unsent, body bytes wait, and no request is begun. */
const MAX_UNSENT_BYTES = 4 * 1024 * 1024;
const ACK_BYTES = FRAME_HEADER_BYTES + 4;

/** A message of a single ACK is neither counted nor kept: else each one would call for another. */
export function isLoneAck(message: Buffer): boolean {
  return message.length === ACK_BYTES && message[0] === FRAME_TYPES.ack;
}

export interface OutboxOptions {
  /** Of the logs of all sessions; undefined for none. */
  budget: LogBudget | undefined;
  onSlabReleased: (slab: ArrayBufferLike) => void;
  /** The peer reads too slowly for another request, or fast enough again. */
  onCongestion: (isCongested: boolean) => void;
}

/** Where the messages of a session go: to its transport of the moment, and into the log until they are acknowledged. */
export class Outbox implements MessageSink {
  readonly #options: OutboxOptions;
  #transport: Transport | undefined;
  #log: SentLog | undefined;
  #hasGreeted = false;
  #isCongested = false;
  #sentBytes = 0;
  #noticedTakenBytes = 0;

  constructor(transport: Transport, options: OutboxOptions) {
    this.#transport = transport;
    this.#options = options;
  }

  get isClear(): boolean {
    return (this.#log?.isEmpty ?? true) && this.#transport?.bufferedBytes === 0;
  }

  get isFull(): boolean {
    return this.#isCongested || (this.#log?.bytes ?? 0) >= FULL_LOG_BYTES;
  }

  /** The peer reads too slowly, or not at all. */
  get isCongested(): boolean {
    return this.#isCongested;
  }

  /** Something was sent, or has left. */
  noteUnsent(): void {
    const isCongested = (this.#transport?.bufferedBytes ?? 0) > MAX_UNSENT_BYTES;
    if (isCongested === this.#isCongested) return;
    this.#isCongested = isCongested;
    this.#options.onCongestion(isCongested);
  }

  /** Nothing is unsent, or the transport has taken something since the last call. */
  takeProgress(): boolean {
    const unsentBytes = this.#transport?.bufferedBytes ?? 0;
    const takenBytes = this.#sentBytes - unsentBytes;
    const before = this.#noticedTakenBytes;
    this.#noticedTakenBytes = takenBytes;
    return unsentBytes === 0 || takenBytes > before;
  }

  /** undefined when nothing is kept: the session cannot be resumed. */
  get log(): SentLog | undefined {
    return this.#log;
  }

  /** From the next message but the one with HELLO. */
  keep(): void {
    if (this.#log !== undefined) return;
    const { budget, onSlabReleased } = this.#options;
    this.#log = new SentLog(onSlabReleased, budget);
    budget?.add(this.#log);
  }

  /** The peer does not resume. */
  keepNothing(): void {
    if (this.#log === undefined) return;
    this.#log.clear();
    this.#options.budget?.delete(this.#log);
    this.#log = undefined;
  }

  send(message: Buffer): void {
    // An ACK that found no room in the message before it is alone, too.
    if (this.#log !== undefined && this.#hasGreeted && !isLoneAck(message)) this.#log.push(message);
    this.#hasGreeted = true;
    this.#sentBytes += message.length;
    this.#transport?.send(message);
    this.noteUnsent();
  }

  /** At once, in a message of its own. @param count - modulo 2³² */
  sendAck(count: number): void {
    if (this.#transport === undefined) return;
    const message = Buffer.allocUnsafe(ACK_BYTES);
    writeFrameHeader(message, 0, FRAME_TYPES.ack, 0, 4);
    message.writeUInt32BE(count, FRAME_HEADER_BYTES);
    this.#transport.send(message);
  }

  /** What is sent from now on is only kept. */
  detach(): void {
    this.#transport = undefined;
    this.noteUnsent();
  }

  /** @param lacking - sent again, before all else */
  attach(transport: Transport, lacking: readonly Buffer[]): void {
    this.#transport = transport;
    this.#sentBytes = 0;
    this.#noticedTakenBytes = 0;
    for (const message of lacking) {
      this.#sentBytes += message.length;
      transport.send(message);
    }
    this.noteUnsent();
  }
}
