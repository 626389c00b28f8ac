import { listRequests as listAll } from "../../inference/in-flight.ts";
import { getRoom } from "../../operations/rooms.ts";
import type { RouteDeps, RouteRequest, RouteResponse } from "../route.ts";
import { param } from "./parse.ts";

/** `GET …/requests`: those that run or wait now, in a cluster at any hub. Contract §5, "Detail". */
export async function listRequests(
  request: RouteRequest,
  { operations, inference, cluster }: RouteDeps,
): Promise<RouteResponse> {
  const { code } = getRoom(operations, param(request, "code"));
  const elsewhere = (await cluster?.requestsElsewhere(code)) ?? [];
  return { status: 200, body: { requests: [...listAll(inference, code), ...elsewhere] } };
}
