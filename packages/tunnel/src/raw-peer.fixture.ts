import type { Transport, TransportListener } from "./transport/transport.ts";
import { writeFrameHeader } from "./wire/frame.ts";
import type { FrameType } from "./wire/frame.ts";
import { decodeFrames } from "./wire/frame-decoder.ts";

/** The session's end of a tunnel whose other end is the test: it feeds bytes in and sees what comes out. */
export class RawPeer implements Transport {
  bufferedBytes = 0;
  /** What is sent is not taken by the network. */
  keepsUnsent = false;
  messages = 0;
  readonly sent: { type: FrameType; streamId: number; payload: Buffer }[] = [];
  closeCode: number | undefined;
  isTerminated = false;
  pings = 0;
  #listener: TransportListener | undefined;

  listen(listener: TransportListener): void {
    this.#listener = listener;
  }

  send(message: Buffer): void {
    this.messages += 1;
    if (this.keepsUnsent) this.bufferedBytes += message.length;
    const onFrame = (type: FrameType, streamId: number, payload: Buffer) =>
      void this.sent.push({ type, streamId, payload });
    decodeFrames(message, { onFrame });
  }

  ping(): void {
    this.pings += 1;
  }

  close(code: number): void {
    this.closeCode ??= code;
  }

  terminate(): void {
    this.isTerminated = true;
  }

  drain(): void {
    this.#listener?.onDrain?.();
  }

  pong(): void {
    this.#listener?.onLife(true);
  }

  /** The connection breaks. */
  cut(): void {
    this.#listener?.onClose(1006, "");
  }

  feed(...frames: Buffer[]): void {
    this.#listener?.onMessage(Buffer.concat(frames));
  }
}

export function frame(type: number, streamId: number, payload: Buffer | string = ""): Buffer {
  const bytes = Buffer.from(payload);
  const header = Buffer.alloc(9);
  writeFrameHeader(header, 0, type as FrameType, streamId, bytes.length);
  return Buffer.concat([header, bytes]);
}

export function headed(type: FrameType, streamId: number, head: unknown, body = ""): Buffer {
  const text = Buffer.from(JSON.stringify(head));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  return frame(type, streamId, Buffer.concat([length, text, Buffer.from(body)]));
}

export function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
