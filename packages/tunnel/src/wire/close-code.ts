import { FRAME_RULES, type FrameType } from "./frame.ts";

/**
 * Why a tunnel's WebSocket closes: the rule that was broken, or who ended it. `docs/reference/tunnel.md`, "Close codes".
 *
 * Beside these a tunnel closes with 1000 (done), 1001 (this side is going away), 1006 (the connection was lost),
 * 1009 (a message over 1 MiB, from the WebSocket library) and 1011 (a bug on the closing side).
 */
export const CLOSE_CODES = {
  done: 1000,
  goingAway: 1001,
  internal: 1011,
  /** Replaced by a newer tunnel with a valid token; do not redial. */
  replaced: 4001,
  /** Malformed frame, wrong direction, wrong order, a text message, no HELLO in time. */
  protocolError: 4002,
  /** HELLO has a version that this side does not support. */
  unsupportedVersion: 4003,
  /** More body bytes than the credit allowed, or credit beyond the announced window. */
  flowControl: 4004,
  /** A frame for a stream that was never opened, or a stream id used twice. */
  unknownStream: 4005,
  /** Far more streams than the agent's HELLO allows. */
  tooManyStreams: 4006,
  /** Two pings in a row without any data; the connection is terminated, so the other end sees 1006. */
  dead: 4007,
  /** A frame larger than its type allows, or a flood of frames for finished streams. */
  abuse: 4008,
  /** HELLO claims a session with another secret, boot id or participant. */
  resumeRefused: 4009,
} as const;

export type CloseCode = (typeof CLOSE_CODES)[keyof typeof CLOSE_CODES];

/** The other end violated the wire protocol. Internal: the session closes the tunnel with `closeCode`. */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
  readonly closeCode: CloseCode;

  constructor(closeCode: CloseCode, message: string) {
    super(message);
    this.closeCode = closeCode;
  }
}

export function outOfPlace(type: FrameType, what: string): ProtocolError {
  return new ProtocolError(CLOSE_CODES.protocolError, `${FRAME_RULES[type].name} ${what}`);
}
