import * as rooms from "../../operations/rooms.ts";
import type { RouteResponse, RouteDeps, RouteRequest } from "../route.ts";
import { param, parse } from "./parse.ts";

/** `POST /rooms`. Interface §4. */
export async function postRoom(
  request: RouteRequest,
  { operations, schemas }: RouteDeps,
): Promise<RouteResponse> {
  const room = parse(schemas.createRoom, request.body);
  return { status: 201, body: await rooms.createRoom(operations, room, request.peer) };
}

/** `GET /rooms`. Interface §4. */
export function listRooms(_request: RouteRequest, { operations }: RouteDeps): RouteResponse {
  return { status: 200, body: { rooms: rooms.listRooms(operations) } };
}

/** `GET /rooms/:code`. Contract §1. */
export function getRoom(request: RouteRequest, { operations }: RouteDeps): RouteResponse {
  return { status: 200, body: { room: rooms.getRoom(operations, param(request, "code")) } };
}
