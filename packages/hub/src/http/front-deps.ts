import type { Limits, RequestSchemas, Surface, TurnEnd, World } from "@roomhub/protocol";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { EventBus } from "../events/bus.ts";
import type { InferenceContext } from "../inference/begin.ts";
import type { ReadRequest } from "../inference/inference-call.ts";
import type { AcceptTunnel } from "../handshake-problem.ts";
import type { Log } from "../log.ts";
import type { OperationContext } from "../operations/context.ts";
import type { authorizeTunnel } from "../operations/participants.ts";
import type { HandedOut } from "./handed-out.ts";
import type { EventStreams } from "./event-stream.ts";
import type { FlushingResponses } from "./flushing-responses.ts";
import type { PeerReader } from "./peer.ts";
import type { ResponseOptions } from "./relay.ts";
import type { HealthState, RouteCluster } from "./route.ts";
import type { ResponseSockets } from "./responses-socket/response-sockets.ts";

/** What the front needs of the hub. */
export interface FrontDeps {
  world: World;
  limits: Limits;
  log: Log;
  operations: OperationContext;
  schemas: RequestSchemas;
  inference: InferenceContext;
  flushing: FlushingResponses;
  turnEnd: TurnEnd;
  requestsStreamUsage: boolean;
  bus: EventBus;
  streams: EventStreams;
  peers: PeerReader;
  isDraining: () => boolean;
  health: () => HealthState;
  /** Whether plain HTTP is refused. */
  requiresTls: boolean;
  sharedUrl: () => string | undefined;
  newRequestId: () => string;
  /** undefined for a hub that is alone: it serves every room */
  places: RoomPlaces | undefined;
  /** undefined for the server that clients connect to; set for the server that takes piped requests of other hubs */
  piped: PipedRequests | undefined;
  responseSockets: ResponseSockets;
  /** undefined: nothing is handed out */
  handedOut: HandedOut | undefined;
  /**
   * The participant whose tunnel session this hub has under this name: its streams may finish, wherever the room's home
   * is now.
   */
  holderOf: (session: string | undefined) => Participant | undefined;
  acceptTunnel: AcceptTunnel;
  /** undefined for a hub that is alone */
  cluster: FrontCluster | undefined;
}

type Participant = ReturnType<typeof authorizeTunnel>;

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

/** Requests that another hub piped here. */
export interface PipedRequests {
  /** @throws HubError `bad_request` */
  requestIdOf(request: IncomingMessage): string;
  /** Takes a request that is from the other hub itself, not from a client. @returns whether it is served */
  takes(request: IncomingMessage, response: ServerResponse): boolean;
  /** ms since the request reached the first hub */
  ageMsOf(request: IncomingMessage): number;
  deliveryOf(request: IncomingMessage): ResponseOptions["delivery"];
}

/** What the front needs of the hub's cluster. */
export interface FrontCluster extends RouteCluster {
  /** Looks for a room that another hub may have created just now. @throws HubError `cluster_unavailable` */
  catchUpRoom(code: string): Promise<void>;
  /**
   * @returns whether this hub has to check that it still is the home, before it accepts an agent that has seen that
   * epoch
   */
  sawEpoch(code: string, epoch: number): boolean;
  /** Completes the handshake of another hub. @throws HubError */
  accept(request: IncomingMessage, socket: Duplex, head: Buffer): void;
}
