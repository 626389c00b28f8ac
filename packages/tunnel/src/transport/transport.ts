import { WIRE_LIMITS } from "../wire/frame.ts";

/** The WebSocket subprotocol that both sides must use. */
export const TUNNEL_SUBPROTOCOL = "roomhub.tunnel.v1";

/**
 * Options for `new WebSocket()` and `new WebSocketServer()` at both ends of a tunnel. Compression is off: client
 * libraries enable it by default, and a compressed message may be a decompression bomb.
 */
export const WS_LIMITS = {
  maxPayload: WIRE_LIMITS.messageBytes,
  maxFragments: 64,
  maxBufferedChunks: 1024,
  perMessageDeflate: false,
  closeTimeout: 5_000,
} as const;

/** With more bytes unsent than these, a transport says when some have left. */
export const DRAIN_NOTICE_BYTES = 1024 * 1024;

/** Binary messages in order, and pings. Implemented for WebSocket and memory. */
export interface Transport {
  /** Called before anything else. A later listener takes the place of the one before. */
  listen(listener: TransportListener): void;
  /**
   * The transport owns the bytes until nothing is buffered. Ignored after a close.
   *
   * @param isFollowed - by another message in this turn, with which it may leave; default: no
   */
  send(message: Buffer, isFollowed?: boolean): void;
  ping(): void;
  /** Closes after everything sent before has been delivered. */
  close(code: number, reason: string): void;
  /** Closes immediately; the other end sees a lost connection. */
  terminate(): void;
  /** Bytes accepted by `send` but not yet sent. */
  readonly bufferedBytes: number;
}

export interface TransportListener {
  /** @param message - at an agent it is valid until this returns */
  onMessage(message: Buffer): void;
  /** A ping was received, or a pong: the other end has read what was sent before that ping. */
  onLife(isPong: boolean): void;
  /** Of what was sent beyond {@link DRAIN_NOTICE_BYTES} unsent bytes, something has left. Absent: it is not waited for. */
  onDrain?(): void;
  /** Called once, last; 1006 when the connection broke. */
  onClose(code: number, reason: string): void;
}
