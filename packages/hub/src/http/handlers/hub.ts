import { type HealthResponse, type HubList, pastedHub } from "@roomhub/protocol";
import { noCluster } from "../handshakes.ts";
import type { JsonHandler } from "../route.ts";

/** `GET /health`. Interface §4; 503 while the hub drains. */
export const getHealth: JsonHandler = ({ origin }, deps) => {
  const { isDraining, isDegraded, ...rest } = deps.health();
  const status = isDraining ? "draining" : isDegraded ? "degraded" : "ok";
  const { hubUrl: url } = pastedHub(origin, { url: deps.sharedUrl() });
  const body: HealthResponse = { status, ...rest, url };
  return { status: isDraining ? 503 : 200, body };
};

/** `GET /v1/cluster/hubs`. Contract §8; 404 at a hub that is alone. */
export const listHubs: JsonHandler = (_request, { cluster }) => {
  if (cluster === undefined) throw noCluster();
  const body: HubList = { hubs: cluster.roll.list() };
  return { status: 200, body };
};
