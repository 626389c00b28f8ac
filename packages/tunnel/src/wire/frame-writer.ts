import type { Timer, World } from "@roomhub/protocol";
import {
  boundedText,
  FRAME_HEADER_BYTES,
  FRAME_TYPES,
  WIRE_LIMITS,
  writeFrameHeader,
} from "./frame.ts";
import type { FrameType } from "./frame.ts";
import type { ResetCode } from "./reset-code.ts";

const FIRST_SLAB_BYTES = 4 * 1024;
const MAX_SLAB_BYTES = 64 * 1024;
const NO_SLAB = Buffer.alloc(0);

/**
 * More than these would only be kept for a rare burst. They are kept, since memory outside V8's heap that has to be collected
 * makes V8 collect everything, and until the tunnel is idle.
 */
const MAX_SPARE_SLABS = 32;

/** Takes the messages that a writer has made. */
export interface MessageSink {
  /**
   * @param message - a view of the writer's slab
   * @param isFollowed - by another one in this turn
   */
  send(message: Buffer, isFollowed: boolean): void;
  /** No message is needed any more: the slab may be written from its start. */
  readonly isClear: boolean;
  /** Body bytes have to wait until the other end has read, or acknowledged, what was sent. */
  readonly isFull: boolean;
}

/** Body bytes waiting to be sent. */
export interface BodySource {
  /** Moves the next `count` bytes to `target`; that many are available. */
  moveInto(target: Buffer, at: number, count: number): void;
}

/**
 * Collects the frames of one turn of the event loop and sends them as one message (several when a slab fills up).
 *
 * Frames are written consecutively into a slab, and messages are views of it. A full slab is reused from its start when
 * the transport has released all messages; otherwise a new one replaces it. It starts small and grows with use, because
 * an idle tunnel must cost little.
 */
export class FrameWriter {
  /** The slab that `reserve()` wrote to. May change with each `reserve()`. */
  slab: Buffer = NO_SLAB;
  /** The session is interrupted: body bytes stay where they are, within their credit. */
  isInterrupted = false;
  /** Body bytes were held because the sink is full. */
  isWaiting = false;
  /** REQUEST and RESPONSE frames that wait for the end of the turn */
  unsentHeads = 0;
  readonly #sink: MessageSink;
  readonly #gather: () => void;
  readonly #world: World;
  readonly #flushNow = (): void => this.flush();
  #messageStart = 0;
  #end = 0;
  #slabBytes = FIRST_SLAB_BYTES;
  #scheduled: Timer | undefined;
  #isIdle = true;
  #spares: ArrayBufferLike[] = [];

  /** @param gather - called before a message is sent: the last chance to add frames */
  constructor(sink: MessageSink, gather: () => void, world: World) {
    this.#sink = sink;
    this.#gather = gather;
    this.#world = world;
  }

  /** Body bytes stay where they are. */
  get isHeld(): boolean {
    if (this.isInterrupted) return true;
    if (!this.#sink.isFull) return false;
    this.isWaiting = true;
    return true;
  }

  /** There are frames that are not sent yet. */
  get hasFrames(): boolean {
    return this.#end > this.#messageStart;
  }

  /** Its messages are not needed any more: it may become one of the next slabs. */
  reuse(slab: ArrayBufferLike): void {
    if (slab === this.slab.buffer || slab.byteLength < MAX_SLAB_BYTES) return;
    if (this.#spares.length < MAX_SPARE_SLABS) this.#spares.push(slab);
  }

  /** Writes a frame's header. @returns the offset in `slab` for the caller's payload */
  reserve(type: FrameType, streamId: number, payloadBytes: number): number {
    const bytes = FRAME_HEADER_BYTES + payloadBytes;
    if (this.slab.length - this.#end < bytes) this.#newSlab(bytes);
    const at = this.#end;
    writeFrameHeader(this.slab, at, type, streamId, payloadBytes);
    this.#end = at + bytes;
    this.schedule();
    return at + FRAME_HEADER_BYTES;
  }

  /** @param streamId - 0 for the tunnel itself */
  text(type: FrameType, text: string, streamId = 0): void {
    const at = this.reserve(type, streamId, Buffer.byteLength(text));
    this.slab.write(text, at);
  }

  /** REQUEST or RESPONSE with the next `rideBytes` of the body. */
  head(type: FrameType, streamId: number, head: Buffer, body: BodySource, rideBytes: number): void {
    const { length } = head;
    this.unsentHeads++;
    const at = this.reserve(type, streamId, 4 + length + rideBytes);
    this.slab.writeUInt32BE(length, at);
    head.copy(this.slab, at + 4);
    if (rideBytes > 0) body.moveInto(this.slab, at + 4 + length, rideBytes);
  }

  data(streamId: number, chunk: Buffer): void {
    const at = this.reserve(FRAME_TYPES.data, streamId, chunk.length);
    chunk.copy(this.slab, at);
  }

  end(streamId: number): void {
    this.reserve(FRAME_TYPES.end, streamId, 0);
  }

  window(streamId: number, credit: number): void {
    const at = this.reserve(FRAME_TYPES.window, streamId, 4);
    this.slab.writeUInt32BE(credit, at);
  }

  reset(streamId: number, code: ResetCode, reason: string): void {
    const text = boundedText(reason, WIRE_LIMITS.reasonBytes);
    const at = this.reserve(FRAME_TYPES.reset, streamId, 1 + Buffer.byteLength(text));
    this.slab[at] = code;
    this.slab.write(text, at + 1);
  }

  /** @param count - modulo 2³² */
  ack(count: number): void {
    const at = this.reserve(FRAME_TYPES.ack, 0, 4);
    this.slab.writeUInt32BE(count, at);
  }

  /** Schedules `flush()` for the end of this turn. */
  schedule(): void {
    this.#scheduled ??= this.#world.setImmediate(this.#flushNow);
  }

  /** Sends all frames now. Only when no other frame can join: the frames of a turn belong in one message. */
  flush(): void {
    this.#gather();
    this.#sendPending(false);
    this.unsentHeads = 0;
    this.#world.clearImmediate(this.#scheduled);
    this.#scheduled = undefined;
    this.#isIdle = false;
  }

  /** Called about once a second: frees the slab when nothing was sent since the last call. */
  releaseWhenIdle(): void {
    if (this.#isIdle && !this.hasFrames) {
      this.slab = NO_SLAB;
      this.#spares = [];
      this.#messageStart = 0;
      this.#end = 0;
      this.#slabBytes = FIRST_SLAB_BYTES;
    }
    this.#isIdle = true;
  }

  #newSlab(neededBytes: number): void {
    this.#sendPending(true);
    this.#messageStart = 0;
    this.#end = 0;
    const bytes = Math.max(neededBytes, this.#slabBytes);
    if (this.slab.length >= bytes && this.#sink.isClear) return;
    const spare = this.#spares.pop();
    this.slab =
      spare !== undefined && spare.byteLength >= bytes
        ? Buffer.from(spare)
        : Buffer.allocUnsafeSlow(bytes);
    this.#slabBytes = Math.min(this.#slabBytes * 2, MAX_SLAB_BYTES);
  }

  #sendPending(isFollowed: boolean): void {
    if (!this.hasFrames) return;
    const message = this.slab.subarray(this.#messageStart, this.#end);
    this.#messageStart = this.#end;
    this.#sink.send(message, isFollowed);
  }
}

/** A message of one frame with text, on stream 0. */
export function encodeFrame(type: FrameType, text: string): Buffer {
  const bytes = Buffer.byteLength(text);
  const message = Buffer.allocUnsafe(FRAME_HEADER_BYTES + bytes);
  writeFrameHeader(message, 0, type, 0, bytes);
  message.write(text, FRAME_HEADER_BYTES);
  return message;
}
