import type { Limits, RequestSchemas, TurnEnd, World } from "@roomhub/protocol";
import type { EventBus } from "../events/bus.ts";
import type { InferenceContext } from "../inference/begin.ts";
import type { Hops } from "../hop/hops.ts";
import type { AcceptTunnel } from "../handshake-problem.ts";
import type { Log } from "../log.ts";
import type { OperationContext } from "../operations/context.ts";
import type { authorizeTunnel } from "../operations/participants.ts";
import type { HandedOut } from "./handed-out.ts";
import type { EventStreams } from "./event-stream.ts";
import type { FlushingResponses } from "./flushing-responses.ts";
import type { RoomPlaces } from "./hops/arrival.ts";
import type { HomePlaces } from "./hops/home-places.ts";
import type { PeerReader } from "./peer.ts";
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
  piped: HomePlaces | undefined;
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

/** What the front needs of the hub's cluster. */
export interface FrontCluster extends RouteCluster {
  rooms: {
    /** Looks for a room that another hub may have created just now. @throws HubError `cluster_unavailable` */
    catchUp(code: string): Promise<void>;
  };
  homes: RouteCluster["homes"] & {
    /**
     * @returns whether this hub has to check that it still is the home, before it accepts an agent that has seen that
     * epoch
     */
    sawEpoch(code: string, epoch: number): boolean;
  };
  hops: Pick<Hops, "accept">;
}
