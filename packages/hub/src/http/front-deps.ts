import type { Limits, RequestSchemas } from "@roomhub/protocol";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { EventBus } from "../events/bus.ts";
import type { InferenceContext } from "../inference/begin.ts";
import type { Log } from "../log.ts";
import type { OperationContext, Peer } from "../operations/context.ts";
import type { HandedOut } from "./handout/handed-out.ts";
import type { EventStreams } from "./event-stream.ts";
import type { FlushingResponses } from "./flushing-responses.ts";
import type { PeerReader } from "./peer.ts";
import type { HealthState } from "./route.ts";
import type { ResponseSockets } from "./responses-socket/response-sockets.ts";

/** What the front needs of the hub. */
export interface FrontDeps {
  limits: Limits;
  log: Log;
  operations: OperationContext;
  schemas: RequestSchemas;
  inference: InferenceContext;
  flushing: FlushingResponses;
  requestsStreamUsage: boolean;
  bus: EventBus;
  streams: EventStreams;
  peers: PeerReader;
  isDraining: () => boolean;
  health: () => HealthState;
  newRequestId: () => string;
  responseSockets: ResponseSockets;
  /** undefined: nothing is handed out */
  handedOut: HandedOut | undefined;
  /** Completes a tunnel's handshake. @throws HubError when it may not open */
  openTunnel: (
    code: string,
    id: string,
    peer: Peer,
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
  ) => void;
}
