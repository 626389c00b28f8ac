import { CLOSE_CODES, ProtocolError } from "./close-code.ts";
import { FRAME_HEADER_BYTES, FRAME_RULES, isFrameType, WIRE_LIMITS } from "./frame.ts";
import type { FrameType } from "./frame.ts";

export interface FrameReceiver {
  /** @param payload - a view into the message, not a copy */
  onFrame(type: FrameType, streamId: number, payload: Buffer): void;
}

/**
 * Passes the frames of one message to `receiver` in order. Frames before a malformed one are delivered.
 *
 * @throws {ProtocolError} 4002 for bytes that are not whole, known frames; 4008 for a frame over its type's limit
 */
export function decodeFrames(message: Buffer, receiver: FrameReceiver): void {
  const total = message.length;
  if (total === 0) throw malformed("empty message");
  if (total > WIRE_LIMITS.messageBytes) {
    throw new ProtocolError(CLOSE_CODES.abuse, `message of ${total} bytes`);
  }
  let at = 0;
  while (at < total) {
    if (total - at < FRAME_HEADER_BYTES) throw malformed("message ends inside a frame header");
    const type = message.readUInt8(at);
    const streamId = message.readUInt32BE(at + 1);
    const length = message.readUInt32BE(at + 5);
    if (!isFrameType(type)) throw malformed(`unknown frame type ${type}`);
    checkHeader(type, streamId, length);
    const start = at + FRAME_HEADER_BYTES;
    const end = start + length;
    if (end > total) throw malformed("message ends inside a frame");
    receiver.onFrame(type, streamId, message.subarray(start, end));
    at = end;
  }
}

function checkHeader(type: FrameType, streamId: number, length: number): void {
  const rule = FRAME_RULES[type];
  if (rule.onStream !== streamId > 0) throw malformed(`${rule.name} on stream ${streamId}`);
  if (length < rule.minBytes) throw malformed(`${rule.name} of ${length} bytes`);
  if (length > rule.maxBytes) {
    throw new ProtocolError(CLOSE_CODES.abuse, `${rule.name} of ${length} bytes`);
  }
}

function malformed(message: string): ProtocolError {
  return new ProtocolError(CLOSE_CODES.protocolError, message);
}
