import type { Transport } from "@roomhub/tunnel";
import type { LinkedHub } from "./handshake.ts";

/** The same at both ends of every link. */
export const LINK = {
  subprotocol: "roomhub.link.v1",
  path: "/v1/cluster/link",
  maxStreams: 4_096,
  /** body bytes per stream and direction in flight or unread */
  windowBytes: 64 * 1024,
  pingIntervalMs: 3_000,
  /** from the connection to the proof */
  handshakeMs: 5_000,
  /** links that have proven nothing yet */
  maxUnproven: 16,
} as const;

/** Another hub, and where it accepts links. */
export interface LinkTarget {
  readonly hubId: string;
  readonly bootId: string;
  /** `ws:` or `wss:`, with the path */
  readonly linkUrl: string;
}

export interface LinkSettings {
  own: LinkedHub;
  /** of the cluster, at least 32 bytes */
  secret: Uint8Array;
  /** 0 up to 1 */
  random: () => number;
  randomBytes: (count: number) => Uint8Array;
}

/**
 * Opens a connection to another hub. Calls back later, once.
 *
 * @returns how to stop; a call to `failed` may follow
 */
export type Dial = (
  linkUrl: string,
  end: { opened(transport: Transport): void; failed(reason: string): void },
) => { abandon(): void };
