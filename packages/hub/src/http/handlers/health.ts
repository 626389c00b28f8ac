import { type HealthResponse, pastedHub } from "@roomhub/protocol";
import type { RouteResponse, RouteDeps, RouteRequest } from "../route.ts";

/** `GET /health`. Interface §4; 503 while the hub drains. */
export function getHealth({ origin }: RouteRequest, deps: RouteDeps): RouteResponse {
  const { isDraining, isDegraded, ...rest } = deps.health();
  const status = isDraining ? "draining" : isDegraded ? "degraded" : "ok";
  const { hubUrl: url } = pastedHub(origin, { url: deps.sharedUrl() });
  const body: HealthResponse = { status, ...rest, url };
  return { status: isDraining ? 503 : 200, body };
}
