import { RouteQuestion } from "@roomhub/protocol";
import { explainRoute } from "../../operations/explain-route.ts";
import { getRoom } from "../../operations/rooms.ts";
import type { RouteResponse, RouteDeps, RouteRequest } from "../route.ts";
import { param, parse } from "./parse.ts";

/** `GET …/route?model=…&protocol=…`: where a request would go now, and why. */
export function getRoute(
  request: RouteRequest,
  { operations, inference }: RouteDeps,
): RouteResponse {
  const { code } = getRoom(operations, param(request, "code"));
  const question = parse(RouteQuestion, Object.fromEntries(request.query));
  const waiting = inference.dispatch.queues.sizeOf(code);
  return { status: 200, body: explainRoute(operations, code, { ...question, waiting }) };
}
