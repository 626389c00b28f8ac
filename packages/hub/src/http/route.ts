import type {
  ErrorShape,
  EventSpelling,
  HubEntry,
  RequestSchemas,
  Surface,
} from "@roomhub/protocol";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { RequestListDeps } from "../inference/in-flight.ts";
import type { Access, Need, OperationContext, Peer } from "../operations/context.ts";
import type { RoomsElsewhere } from "./hops/rooms-elsewhere.ts";

/** A request that the gate let pass, and where its response goes. */
export interface Admitted {
  request: IncomingMessage;
  response: ServerResponse;
  requestId: string;
  /** undefined where there is no such room */
  access: Access | undefined;
  refuse: (error: unknown) => void;
}

/** A request as a JSON handler gets it. */
export interface RouteRequest {
  /** the room's code in the path; empty where the path has none */
  readonly code: string;
  /** the participant's id in the path; empty where the path has none */
  readonly id: string;
  params: Readonly<Record<string, string | undefined>>;
  query: URLSearchParams;
  /** decoded JSON; undefined for routes without a body */
  body: unknown;
  peer: Peer;
  /** `If-None-Match: *` */
  onlyIfNew: boolean;
  /** `anthropic` for clients that send `anthropic-version`, as Anthropic's SDKs do with every request */
  shape: ErrorShape;
  /** `http://host:port` as the client knows the hub */
  origin: string;
}

export interface RouteDeps {
  operations: OperationContext;
  /** of management bodies, within this hub's limits */
  schemas: RequestSchemas;
  health: () => HealthState;
  /** where other machines reach the hub without a proxy; undefined when they do not */
  sharedUrl: () => string | undefined;
  /** requests that run or wait */
  inference: RequestListDeps;
  /** undefined for a hub that is alone */
  cluster: RouteCluster | undefined;
  /** undefined for requests of clients; set for requests of other hubs */
  piped: object | undefined;
}

/** What routes need of the hub's cluster. */
export interface RouteCluster {
  /** The rooms whose homes are at other hubs. Never rejects. */
  roomsElsewhere(): Promise<RoomsElsewhere>;
  homes: {
    /** The epoch in which this hub is the room's home. */
    epochHere(code: string): number | undefined;
  };
  roll: {
    /** this hub first */
    list(): HubEntry[];
    /** where participants that join here open their tunnel */
    readonly ownUrl: string | undefined;
    /** Where hubs of the cluster take participants, this one first; at most 16. */
    advertisedUrls(): string[];
  };
}

interface HealthState {
  isDraining: boolean;
  /** Its cluster cannot be reached. */
  isDegraded: boolean;
  version: string;
  uptimeSeconds: number;
  timestamp: string;
  /** It hands out its program. */
  handout: boolean;
  /** the key that invites pin */
  pin: string | undefined;
}

export type RouteResponse = { status: number } & ({ body: unknown } | { json: Buffer });

export type JsonHandler = (
  request: RouteRequest,
  deps: RouteDeps,
) => RouteResponse | Promise<RouteResponse>;

export type PageName = "hub" | "room" | "watch";

/** A row that is served as JSON. */
export type JsonRoute = Extract<Route, { kind: "json" }>;

/** A row that participants serve. */
export type RelayRoute = Extract<Route, { kind: "inference" | "stored-response" }>;

export type HttpMethod = "GET" | "POST" | "PUT" | "DELETE";

/** The methods that a stored response takes. Contract §4. */
export type StoredResponseMethod = Exclude<HttpMethod, "PUT">;

/**
 * One row of the surface. `:name` is a parameter. `needs`: what a closed room requires, judged by the head alone.
 */
export type Route = { method: HttpMethod; path: string; needs: Need } &
  /** `page`: what people get instead, see `prefersHtml` */
  (
    | {
        kind: "json";
        hasBody: boolean;
        handle: JsonHandler;
        page?: PageName | undefined;
      }
    /** for people only: programs get a 404 */
    | { kind: "page"; page: PageName }
    | { kind: "program" }
    | { kind: "sdk" }
    | { kind: "monitor" }
    | { kind: "inference"; surface: Surface }
    | { kind: "stored-response"; method: StoredResponseMethod; suffix: string }
    | { kind: "events"; spelling: EventSpelling }
    | { kind: "openapi" }
    | { kind: "responses-socket" }
    | { kind: "tunnel" }
    | { kind: "hop" }
  );
