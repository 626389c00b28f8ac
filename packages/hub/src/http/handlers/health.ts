import type { HealthResponse } from "@roomhub/protocol";
import type { RouteResponse, RouteDeps, RouteRequest } from "../route.ts";

/** `GET /health`. Interface §4; 503 while the hub drains. */
export function getHealth(_request: RouteRequest, deps: RouteDeps): RouteResponse {
  const { isDraining, isDegraded, ...rest } = deps.health();
  const status = isDraining ? "draining" : isDegraded ? "degraded" : "ok";
  const body: HealthResponse = { status, ...rest };
  return { status: isDraining ? 503 : 200, body };
}
