import type { EventSpelling, RequestSchemas, Surface } from "@roomhub/protocol";
import type { OperationContext, Peer } from "../operations/context.ts";

/** A request as a handler of JSON gets it. */
export interface RouteRequest {
  params: Readonly<Record<string, string | undefined>>;
  /** decoded JSON; undefined for routes without a body */
  body: unknown;
  peer: Peer;
  /** `http://host:port` as the client knows the hub */
  origin: string;
}

export interface RouteDeps {
  operations: OperationContext;
  /** of management bodies, within this hub's limits */
  schemas: RequestSchemas;
  health: () => HealthState;
}

export interface HealthState {
  isDraining: boolean;
  version: string;
  uptimeSeconds: number;
  timestamp: string;
}

export interface JsonAnswer {
  status: number;
  body: unknown;
}

export type JsonHandler = (
  request: RouteRequest,
  deps: RouteDeps,
) => JsonAnswer | Promise<JsonAnswer>;

export type HttpMethod = "GET" | "POST" | "PUT" | "DELETE";

/** One row of the surface. `:name` is a parameter. */
export type Route = { method: HttpMethod; path: string } & (
  | { kind: "json"; hasBody: boolean; handle: JsonHandler }
  | { kind: "inference"; surface: Surface }
  | { kind: "events"; spelling: EventSpelling }
  | { kind: "tunnel" }
);
