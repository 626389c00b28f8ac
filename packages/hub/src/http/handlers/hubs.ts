import type { HubList } from "@roomhub/protocol";
import { noCluster } from "../handshakes.ts";
import type { RouteDeps, RouteRequest, RouteResponse } from "../route.ts";

/** `GET /v1/cluster/hubs`. Contract §8; 404 at a hub that is alone. */
export function listHubs(_request: RouteRequest, { cluster }: RouteDeps): RouteResponse {
  if (cluster === undefined) throw noCluster();
  const body: HubList = { hubs: cluster.listHubs() };
  return { status: 200, body };
}
