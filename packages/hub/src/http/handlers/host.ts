import { isIP } from "node:net";
import { BlockedClient, KickQuestion } from "@roomhub/protocol";
import * as host from "../../operations/host.ts";
import { networkOf, normaliseAddress } from "../peer.ts";
import { getRoom } from "../../operations/rooms.ts";
import { ok, param, parse } from "./parse.ts";
import type { JsonHandler, RouteDeps, RouteRequest, RouteResponse } from "../route.ts";

/** `PUT /rooms/:code`. Contract §9. */
export const putRoom: JsonHandler = async (request, { operations, schemas }) => {
  const { code, body } = request;
  // An unknown room is reported before anything that is wrong with the body.
  getRoom(operations, code);
  const change = parse(schemas.updateRoom, body);
  return ok({ room: await host.updateRoom(operations, code, change) });
};

/** `DELETE /rooms/:code`. Contract §9. */
export const deleteRoom: JsonHandler = async ({ code }, { operations }) => {
  await host.deleteRoom(operations, code);
  return ok({ success: true });
};

/** `POST …/participants/:id/kick?banMs=…`. Contract §9. */
export const postKick: JsonHandler = async ({ code, id, query }, { operations }) => {
  const { banMs } = parse(KickQuestion, Object.fromEntries(query));
  await host.kickParticipant(operations, code, id, banMs);
  return ok({ success: true });
};

/** `GET …/bans`. Contract §9. */
export const listBans: JsonHandler = ({ code }, { operations }) =>
  ok({ bans: host.bansIn(operations, code) });

/** `DELETE …/bans/:id`. Contract §9. */
export const deleteBan: JsonHandler = async ({ code, id }, { operations }) =>
  ok({ bans: await host.liftBan(operations, code, id) });

/** `GET …/blocked`. Contract §9. */
export const listBlocked: JsonHandler = ({ code }, { operations }) =>
  ok({ blocked: host.blockedIn(operations, code) });

/** `PUT …/blocked/:client`. Contract §9. */
export const putBlocked: JsonHandler = (request, deps) => setBlocked(request, deps, true);

/** `DELETE …/blocked/:client`. Contract §9. */
export const deleteBlocked: JsonHandler = (request, deps) => setBlocked(request, deps, false);

async function setBlocked(
  request: RouteRequest,
  { operations }: RouteDeps,
  isBlocked: boolean,
): Promise<RouteResponse> {
  const { client: named } = parse(BlockedClient, { client: param(request, "client") });
  // Its requests show of an IPv6 address no more than the network.
  const client = isIP(named) === 0 ? named.toLowerCase() : networkOf(normaliseAddress(named));
  return ok({ blocked: await host.setBlocked(operations, request.code, client, isBlocked) });
}
