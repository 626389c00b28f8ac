import { WIRE_LIMITS } from "../wire/frame.ts";

/** The WebSocket subprotocol both sides must name. */
export const TUNNEL_SUBPROTOCOL = "roomhub.tunnel.v1";

/**
 * Options for `new WebSocket()` and `new WebSocketServer()` at both ends of a tunnel. Compression is off because a
 * client's library turns it on by itself, and a compressed message may be a bomb.
 */
export const WS_LIMITS = {
  maxPayload: WIRE_LIMITS.messageBytes,
  maxFragments: 64,
  maxBufferedChunks: 1024,
  perMessageDeflate: false,
  closeTimeout: 5_000,
} as const;

/** Whole messages of bytes in order, and a ping. WebSocket and memory implement it. */
export interface Transport {
  /** Called exactly once, before anything else. */
  listen(listener: TransportListener): void;
  /** The bytes belong to the transport until nothing is buffered any more. Ignored after a close. */
  send(message: Buffer): void;
  ping(): void;
  /** Orderly: what was sent before arrives first. */
  close(code: number, reason: string): void;
  /** At once; the peer sees a broken connection. */
  terminate(): void;
  /** Bytes accepted by `send` that have not left yet. */
  readonly bufferedBytes: number;
}

export interface TransportListener {
  onMessage(message: Buffer): void;
  /** A ping or a pong came in. */
  onLife(): void;
  /** Exactly once, last; 1006 when the connection broke. */
  onClose(code: number, reason: string): void;
}
