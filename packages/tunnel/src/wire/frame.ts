/**
 * The frame: `u8 type, u32 streamId, u32 length, payload`, big endian. Stream 0 is the tunnel itself.
 * A WebSocket message holds one or more whole frames. `docs/reference/tunnel.md`, "Frames".
 */
export const FRAME_TYPES = {
  hello: 1,
  status: 2,
  request: 3,
  response: 4,
  data: 5,
  end: 6,
  window: 7,
  reset: 8,
  goAway: 9,
  /** Only in a session that can be resumed. */
  ack: 10,
} as const;

export type FrameType = (typeof FRAME_TYPES)[keyof typeof FRAME_TYPES];

export const FRAME_HEADER_BYTES = 9;

/** Limits of wire version 1; the same for every implementation. */
export const WIRE_LIMITS = {
  messageBytes: 1024 * 1024,
  dataBytes: 64 * 1024,
  headBytes: 16 * 1024,
  requestRideBytes: 16 * 1024,
  responseRideBytes: 64 * 1024,
  helloBytes: 64 * 1024,
  reasonBytes: 1024,
  windowBytes: 0x7fff_ffff,
} as const;

interface FrameRule {
  name: string;
  onStream: boolean;
  minBytes: number;
  maxBytes: number;
}

/** What the decoder checks by type before it reads the payload. */
export const FRAME_RULES: Record<FrameType, FrameRule> = {
  1: { name: "HELLO", onStream: false, minBytes: 2, maxBytes: WIRE_LIMITS.helloBytes },
  2: { name: "STATUS", onStream: false, minBytes: 2, maxBytes: WIRE_LIMITS.helloBytes },
  3: {
    name: "REQUEST",
    onStream: true,
    minBytes: 6,
    maxBytes: 4 + WIRE_LIMITS.headBytes + WIRE_LIMITS.requestRideBytes,
  },
  4: {
    name: "RESPONSE",
    onStream: true,
    minBytes: 4,
    maxBytes: 4 + WIRE_LIMITS.headBytes + WIRE_LIMITS.responseRideBytes,
  },
  5: { name: "DATA", onStream: true, minBytes: 1, maxBytes: WIRE_LIMITS.dataBytes },
  6: { name: "END", onStream: true, minBytes: 0, maxBytes: 0 },
  7: { name: "WINDOW", onStream: true, minBytes: 4, maxBytes: 4 },
  8: { name: "RESET", onStream: true, minBytes: 1, maxBytes: 1 + WIRE_LIMITS.reasonBytes },
  9: { name: "GOAWAY", onStream: false, minBytes: 0, maxBytes: WIRE_LIMITS.reasonBytes },
  10: { name: "ACK", onStream: false, minBytes: 4, maxBytes: 4 },
};

export function isFrameType(byte: number): byte is FrameType {
  return byte >= FRAME_TYPES.hello && byte <= FRAME_TYPES.ack;
}

/** Writes the nine header bytes at `at`; the caller ensures that they fit. */
export function writeFrameHeader(
  target: Buffer,
  at: number,
  type: FrameType,
  streamId: number,
  length: number,
): void {
  target[at] = type;
  target.writeUInt32BE(streamId, at + 1);
  target.writeUInt32BE(length, at + 5);
}

/** `text` as UTF-8 of at most `maxBytes`, cut between characters. */
export function boundedText(text: string, maxBytes: number): string {
  if (text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes) return text;
  const bytes = Buffer.from(text);
  let end = maxBytes;
  // 10xxxxxx continues a character: step back to where one starts.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString("utf8", 0, end);
}
