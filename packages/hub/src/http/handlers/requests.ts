import { listRequests as listAll } from "../../inference/in-flight.ts";
import { getRoom } from "../../operations/rooms.ts";
import type { RouteDeps, RouteRequest, RouteResponse } from "../route.ts";
import { param } from "./parse.ts";

/** `GET …/requests`: those that run or wait now. Contract §5, "Detail". */
export function listRequests(
  request: RouteRequest,
  { operations, inference }: RouteDeps,
): RouteResponse {
  const { code } = getRoom(operations, param(request, "code"));
  return { status: 200, body: { requests: listAll(inference, code) } };
}
