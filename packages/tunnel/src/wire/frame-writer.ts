import {
  boundedText,
  FRAME_HEADER_BYTES,
  FRAME_TYPES,
  WIRE_LIMITS,
  writeFrameHeader,
} from "./frame.ts";
import type { FrameType } from "./frame.ts";
import type { ResetCode } from "./reset-code.ts";
import type { Transport } from "../transport/transport.ts";

const FIRST_SLAB_BYTES = 4 * 1024;
const MAX_SLAB_BYTES = 64 * 1024;
const NO_SLAB = Buffer.alloc(0);

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
  readonly #transport: Transport;
  readonly #gather: () => void;
  readonly #flushNow = (): void => this.flush();
  #messageStart = 0;
  #end = 0;
  #slabBytes = FIRST_SLAB_BYTES;
  #scheduled: NodeJS.Immediate | undefined;
  #isIdle = true;

  /** @param gather - called at the end of a turn, before its message is sent: the last chance to add frames */
  constructor(transport: Transport, gather: () => void) {
    this.#transport = transport;
    this.#gather = gather;
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

  /** Schedules `flush()` for the end of this turn. */
  schedule(): void {
    this.#scheduled ??= setImmediate(this.#flushNow);
  }

  /** Sends all frames now. Only when no other frame can join: the frames of a turn belong in one message. */
  flush(): void {
    this.#gather();
    this.#sendPending();
    clearImmediate(this.#scheduled);
    this.#scheduled = undefined;
    this.#isIdle = false;
  }

  /** Called about once a second: frees the slab when nothing was sent since the last call. */
  releaseWhenIdle(): void {
    if (this.#isIdle && this.#end === this.#messageStart) {
      this.slab = NO_SLAB;
      this.#messageStart = 0;
      this.#end = 0;
      this.#slabBytes = FIRST_SLAB_BYTES;
    }
    this.#isIdle = true;
  }

  #newSlab(neededBytes: number): void {
    this.#sendPending();
    this.#messageStart = 0;
    this.#end = 0;
    const isLarge = this.slab.length >= Math.max(neededBytes, this.#slabBytes);
    if (isLarge && this.#transport.bufferedBytes === 0) return;
    this.slab = Buffer.allocUnsafeSlow(Math.max(neededBytes, this.#slabBytes));
    this.#slabBytes = Math.min(this.#slabBytes * 2, MAX_SLAB_BYTES);
  }

  #sendPending(): void {
    if (this.#end === this.#messageStart) return;
    const message = this.slab.subarray(this.#messageStart, this.#end);
    this.#messageStart = this.#end;
    this.#transport.send(message);
  }
}
