import type { EventBus } from "../events/bus.ts";
import type { Hops } from "../hop/hops.ts";
import type { AcceptTunnel } from "../handshake-problem.ts";
import type { Log } from "../log.ts";
import type { authorizeTunnel } from "../operations/participants.ts";
import type { HandedOut } from "./handed-out.ts";
import type { EventStreams } from "./event-stream.ts";
import type { InferenceDeps } from "./handlers/inference.ts";
import type { RoomPlaces } from "./hops/arrival.ts";
import type { HomePlaces } from "./hops/home-places.ts";
import type { PeerReader } from "./peer.ts";
import type { RouteCluster, RouteDeps } from "./route.ts";
import type { ResponseSockets } from "./responses-socket/response-sockets.ts";

/** What the front needs of the hub. */
export interface FrontDeps
  extends InferenceDeps, Pick<RouteDeps, "operations" | "schemas" | "health" | "sharedUrl"> {
  log: Log;
  bus: EventBus;
  streams: EventStreams;
  peers: PeerReader;
  isDraining: () => boolean;
  /** Whether plain HTTP is refused. */
  requiresTls: boolean;
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
