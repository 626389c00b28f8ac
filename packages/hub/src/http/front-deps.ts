import type { Limits, RequestSchemas } from "@roomhub/protocol";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { EventBus } from "../events/bus.ts";
import type { InferenceContext } from "../inference/begin.ts";
import type { Log } from "../log.ts";
import type { OperationContext } from "../operations/context.ts";
import type { HandedOut } from "./handout/handed-out.ts";
import type { EventStreams } from "./event-stream.ts";
import type { FlushingResponses } from "./flushing-responses.ts";
import type { OwnerRelay } from "./owner-relay.ts";
import type { PeerReader } from "./peer.ts";
import type { HealthState, RouteCluster } from "./route.ts";
import type { OpenTunnel } from "./tunnels/open-tunnel.ts";
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
  /** This hub has the tunnel session with this name: what runs in it may finish at a hub that stops. */
  hasSession: (session: string | undefined) => boolean;
  /** Completes a tunnel's handshake. @throws HubError when it may not open */
  openTunnel: OpenTunnel;
  /** undefined for a hub that is alone */
  cluster: FrontCluster | undefined;
}

/** What the front needs of the hub's cluster. */
export interface FrontCluster extends RouteCluster {
  relay: OwnerRelay;
  /** Looks for a room that another hub may have made just now. @throws HubError `cluster_unavailable` */
  catchUpRoom(code: string): Promise<void>;
  /** Completes the handshake of another hub. @throws HubError */
  acceptLink(request: IncomingMessage, socket: Duplex, head: Buffer): void;
}
