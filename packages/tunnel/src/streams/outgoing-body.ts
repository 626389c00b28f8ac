import { FRAME_TYPES, WIRE_LIMITS } from "../wire/frame.ts";
import type { SendCredit } from "./credit.ts";
import type { BodySource, FrameWriter } from "../wire/frame-writer.ts";

/** Body bytes waiting for credit, in their original buffers: copied only into a frame. */
export class OutgoingBody implements BodySource {
  #chunks: Buffer[] = [];
  #index = 0;
  #offset = 0;
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  push(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
  }

  clear(): void {
    this.#chunks = [];
    this.#index = 0;
    this.#offset = 0;
    this.#bytes = 0;
  }

  moveInto(target: Buffer, at: number, count: number): void {
    let written = 0;
    while (written < count) {
      const chunk = this.#chunks[this.#index];
      if (chunk === undefined) break;
      const copied = chunk.copy(target, at + written, this.#offset, this.#offset + count - written);
      written += copied;
      this.#offset += copied;
      if (this.#offset === chunk.length) {
        this.#index += 1;
        this.#offset = 0;
      }
    }
    this.#bytes -= written;
    if (this.#bytes === 0) this.clear();
  }

  /** Sends DATA while there are bytes and credit, in at most so many frames. @returns whether everything was sent */
  pump(
    writer: FrameWriter,
    streamId: number,
    credit: SendCredit,
    maxFrames = Number.POSITIVE_INFINITY,
  ): boolean {
    for (let frames = 0; this.#bytes > 0; frames += 1) {
      if (frames === maxFrames || writer.isHeld) return false;
      const count = Math.min(this.#bytes, credit.availableBytes, WIRE_LIMITS.dataBytes);
      if (count === 0) return false;
      const at = writer.reserve(FRAME_TYPES.data, streamId, count);
      this.moveInto(writer.slab, at, count);
      credit.spend(count);
    }
    return true;
  }
}
