import { KickQuestion } from "@roomhub/protocol";
import * as host from "../../operations/host.ts";
import { getRoom } from "../../operations/rooms.ts";
import { ok, param, parse } from "./parse.ts";
import type { RouteDeps, RouteRequest, RouteResponse } from "../route.ts";

/** `PUT /rooms/:code`. Contract §9. */
export async function putRoom(
  request: RouteRequest,
  { operations, schemas }: RouteDeps,
): Promise<RouteResponse> {
  const code = param(request, "code");
  // An unknown room is reported before anything that is wrong with the body.
  getRoom(operations, code);
  const change = parse(schemas.updateRoom, request.body);
  return ok({ room: await host.updateRoom(operations, code, change) });
}

/** `DELETE /rooms/:code`. Contract §9. */
export async function deleteRoom(
  request: RouteRequest,
  { operations }: RouteDeps,
): Promise<RouteResponse> {
  await host.deleteRoom(operations, param(request, "code"));
  return ok({ success: true });
}

/** `POST …/participants/:id/kick?banMs=…`. Contract §9. */
export async function postKick(
  request: RouteRequest,
  { operations }: RouteDeps,
): Promise<RouteResponse> {
  const [code, id] = [param(request, "code"), param(request, "id")];
  const { banMs } = parse(KickQuestion, Object.fromEntries(request.query));
  await host.kickParticipant(operations, code, id, banMs);
  return ok({ success: true });
}
