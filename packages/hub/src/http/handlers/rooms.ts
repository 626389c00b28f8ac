import type { RoomListResponse } from "@roomhub/protocol";
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

/** `GET /rooms`. Interface §4; contract §8 for several hubs. */
export async function listRooms(
  _request: RouteRequest,
  { operations, cluster, piped }: RouteDeps,
): Promise<RouteResponse> {
  // Another hub asks for what it does not know itself.
  if (piped !== undefined) return listed({ rooms: rooms.listRoomsInUse(operations) });
  const elsewhere = await cluster?.roomsElsewhere();
  const { unreachable = [] } = elsewhere ?? {};
  return listed({
    rooms: rooms.listRooms(operations, elsewhere?.rooms),
    ...(unreachable.length === 0 ? {} : { unreachable: [...unreachable] }),
  });
}

function listed(body: RoomListResponse): RouteResponse {
  return { status: 200, body };
}

/** `GET /rooms/:code`. Contract §1. */
export function getRoom(request: RouteRequest, { operations }: RouteDeps): RouteResponse {
  return { status: 200, body: { room: rooms.getRoom(operations, param(request, "code")) } };
}
