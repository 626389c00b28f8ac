import type { Duplex } from "node:stream";
import { giveBack } from "@roomhub/protocol";
import { WIRE_LIMITS } from "../wire/frame.ts";

/** The first byte of a frame that is a whole binary message, of a ping and of a pong. RFC 6455 §5.2. */
const BINARY = 0x82;
const PING = 0x89;
const PONG = 0x8a;
/** In the second byte. */
const MASKED = 0x80;
const NOTHING = Buffer.alloc(0);

/** How messages are read without `ws`. */
export interface Reading {
  /**
   * At an agent messages are valid until `onMessage` returns. At a hub they may be kept, and come masked: with a key of
   * zeros they are read here, with any other by `ws`.
   */
  end: "agent" | "hub";
  /** the longest message; `ws` refuses longer ones */
  maxBytes: number;
}

const agentReading: Reading = { end: "agent", maxBytes: WIRE_LIMITS.messageBytes };

/**
 * Reads the messages of a tunnel in place of `ws`, whose memory for them only V8 can collect. `ws` gets pings and pongs, and
 * everything from the first frame on that is neither these nor a whole binary message as this end expects it. Where anything
 * but `ws` listens to the socket, too, `ws` reads all of it.
 *
 * @param socket - below a WebSocket that has just opened
 */
export function readMessages(
  socket: Duplex,
  onMessage: (message: Buffer) => void,
  reading = agentReading,
): void {
  const [wsReads, other] = socket.listeners("data") as ((chunk: Buffer) => void)[];
  if (wsReads === undefined || other !== undefined) return;
  const onControl = (frame: Buffer): void => wsReads.call(socket, frame);
  const onOther = (bytes: Buffer): void => {
    socket.off("close", drop).off("data", read).on("data", wsReads);
    wsReads.call(socket, bytes);
  };
  const reader = new MessageReader({ onMessage, onControl, onOther }, reading);
  const read = (chunk: Buffer): void => reader.read(chunk);
  // What was not read when it closes may be the middle of a message, which `ws` would read as frames.
  const drop = (): void => {
    while (socket.read() !== null);
  };
  socket.off("data", wsReads).on("data", read).prependListener("close", drop);
}

interface MessageListener {
  /** @param message - valid until this returns, or as {@link Reading} says */
  onMessage(message: Buffer): void;
  /** A whole ping or pong, as it came. */
  onControl(frame: Buffer): void;
  /** Bytes that this reader does not read, from the beginning of a frame on. It is not called again. */
  onOther(bytes: Buffer): void;
}

export class MessageReader {
  readonly #listener: MessageListener;
  readonly #reading: Reading;
  /** Parts of what is being read may be kept. */
  #isKept = false;
  /** the beginning of a head, or of a control frame */
  #rest = NOTHING;
  /** A message of which the first `#filled` bytes are here. */
  #message: Buffer | undefined;
  #filled = 0;

  constructor(listener: MessageListener, reading = agentReading) {
    this.#listener = listener;
    this.#reading = reading;
  }

  /** @param chunk - is given back, unless parts of it are kept */
  read(chunk: Buffer): void {
    this.#isKept = false;
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    this.#rest = NOTHING;
    let at = this.#message === undefined ? 0 : this.#fill(this.#message, bytes, 0);
    while (at < bytes.length) {
      const end = this.#readFrame(bytes, at);
      if (end === undefined) this.#rest = Buffer.from(bytes.subarray(at));
      at = end ?? bytes.length;
    }
    if (!this.#isKept) giveBack(chunk);
  }

  /** @returns where it ends; undefined when more is needed to know that */
  #readFrame(bytes: Buffer, at: number): number | undefined {
    const have = bytes.length - at;
    if (have < 2) return undefined;
    const first = bytes.readUInt8(at);
    const second = bytes.readUInt8(at + 1);
    const { end, maxBytes } = this.#reading;
    const sized = second & ~MASKED;
    const isMasked = sized !== second;
    const headBytes = (sized < 126 ? 2 : sized === 126 ? 4 : 10) + (isMasked ? 4 : 0);
    if (have < headBytes) return undefined;
    const start = at + headBytes;
    const length = lengthOf(bytes, at, sized);
    const isPlain = end === "hub" ? isMasked && bytes.readUInt32BE(start - 4) === 0 : !isMasked;
    if ((first === PING || first === PONG) && isPlain && sized < 126) {
      if (have < headBytes + length) return undefined;
      this.#listener.onControl(Buffer.from(bytes.subarray(at, start + length)));
    } else if (first !== BINARY || !isPlain || length > maxBytes) {
      this.#listener.onOther(Buffer.from(bytes.subarray(at)));
      return bytes.length;
    } else if (have < headBytes + length) {
      this.#message = Buffer.allocUnsafeSlow(length);
      this.#filled = 0;
      return this.#fill(this.#message, bytes, start);
    } else {
      this.#isKept ||= end === "hub";
      this.#listener.onMessage(bytes.subarray(start, start + length));
    }
    return start + length;
  }

  /** @returns the offset of the first byte that belongs to another frame */
  #fill(message: Buffer, bytes: Buffer, from: number): number {
    const copied = bytes.copy(message, this.#filled, from);
    this.#filled += copied;
    if (this.#filled === message.length) {
      this.#message = undefined;
      this.#listener.onMessage(message);
      if (this.#reading.end === "agent") giveBack(message);
    }
    return from + copied;
  }
}

/** @param sized - the byte with the length, or how many bytes have it, without the bit of the mask */
function lengthOf(bytes: Buffer, at: number, sized: number): number {
  if (sized < 126) return sized;
  if (sized === 126) return bytes.readUInt16BE(at + 2);
  return bytes.readUInt32BE(at + 2) * 2 ** 32 + bytes.readUInt32BE(at + 6);
}
