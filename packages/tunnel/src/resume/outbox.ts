import type { Transport } from "../transport/transport.ts";
import type { MessageSink } from "../wire/frame-writer.ts";
import { FRAME_HEADER_BYTES, FRAME_TYPES, writeFrameHeader } from "../wire/frame.ts";
import { SentLog } from "./sent-log.ts";

/** Beside the bytes of running streams: control frames, and streams that have ended. */
const LOG_RESERVE_BYTES = 1024 * 1024;
const ACK_BYTES = FRAME_HEADER_BYTES + 4;

/** A message of a single ACK is neither counted nor kept: else each one would call for another. */
export function isLoneAck(message: Buffer): boolean {
  return message.length === ACK_BYTES && message[0] === FRAME_TYPES.ack;
}

export interface OutboxOptions {
  /** Bytes of running streams that the peer's credit allows under way. */
  creditBytes: () => number;
  onSlabReleased: (slab: ArrayBufferLike) => void;
}

/** Where the messages of a session go: to its transport of the moment, and into the log until they are acknowledged. */
export class Outbox implements MessageSink {
  readonly #options: OutboxOptions;
  #transport: Transport | undefined;
  #log: SentLog | undefined;
  #hasGreeted = false;

  constructor(transport: Transport, options: OutboxOptions) {
    this.#transport = transport;
    this.#options = options;
  }

  get isClear(): boolean {
    return (this.#log?.isEmpty ?? true) && this.#transport?.bufferedBytes === 0;
  }

  /** undefined when nothing is kept: the session cannot be resumed. */
  get log(): SentLog | undefined {
    return this.#log;
  }

  /** From the next message but the one with HELLO. */
  keep(): void {
    this.#log ??= new SentLog((slab) => this.#options.onSlabReleased(slab));
  }

  /** The peer does not resume. */
  keepNothing(): void {
    this.#log?.clear();
    this.#log = undefined;
  }

  send(message: Buffer): void {
    // An ACK that found no room in the message before it is alone, too.
    if (this.#log !== undefined && this.#hasGreeted && !isLoneAck(message))
      this.#log.push(message, this.#options.creditBytes() + LOG_RESERVE_BYTES);
    this.#hasGreeted = true;
    this.#transport?.send(message);
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
  }

  /** @param lacking - sent again, before all else */
  attach(transport: Transport, lacking: readonly Buffer[]): void {
    this.#transport = transport;
    for (const message of lacking) transport.send(message);
  }
}
