import type { Surface } from "@roomhub/protocol";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { ReadRequest } from "../../inference/inference-call.ts";

/** A request or handshake for a room. Exactly one of `serve` and `refuse` is called, perhaps later. */
export interface Arrival {
  /** normalised */
  code: string;
  requestId: string;
  /** undefined unless it is an inference request */
  surface: Surface | undefined;
  /** Its client ends it, as with event streams: a hub that stops does not wait for it. */
  isLasting: boolean;
  serve: () => void;
  refuse: (error: unknown) => void;
}

/** An agent dials the tunnel of its participant. */
export interface TunnelDial {
  participantId: string;
  /** the session to resume, which is at the hub that has it, wherever the room's home is now */
  session: string | undefined;
}

/** Where requests for rooms are served. */
export interface RoomPlaces {
  /** @param target - called back unless the request is sent to the room's home */
  request(target: Arrival, request: IncomingMessage, response: ServerResponse): void;
  /** @param tunnel - undefined for another WebSocket */
  upgrade(
    target: Arrival,
    tunnel: TunnelDial | undefined,
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
  ): void;
  /** A request that was to be served here, with no response but comments so far: the room leaves this hub. */
  again(
    target: Arrival,
    request: IncomingMessage,
    response: ServerResponse,
    read: ReadRequest,
  ): void;
  /** Notes that an inference request is served here. */
  entered(code: string, request: IncomingMessage): void;
}
