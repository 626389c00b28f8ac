import { RotateQuestion } from "@roomhub/protocol";
import * as keys from "../../operations/keys.ts";
import { ok, param, parse } from "./parse.ts";
import type { RouteDeps, RouteRequest, RouteResponse } from "../route.ts";

/** `POST …/close`. Contract §9. */
export async function postClose(
  request: RouteRequest,
  { operations }: RouteDeps,
): Promise<RouteResponse> {
  return ok({ room: await keys.closeRoom(operations, param(request, "code")) });
}

/** `POST …/open`. Contract §9. */
export async function postOpen(
  request: RouteRequest,
  { operations }: RouteDeps,
): Promise<RouteResponse> {
  const { room, warnings } = await keys.openRoom(operations, param(request, "code"));
  return ok({ room, ...(warnings.length === 0 ? {} : { warnings }) });
}

/** `GET …/keys`. Contract §9. */
export function listKeys(request: RouteRequest, { operations }: RouteDeps): RouteResponse {
  return ok({ keys: keys.listKeys(operations, param(request, "code")) });
}

/** `POST …/keys`. Contract §9. */
export async function postKey(
  request: RouteRequest,
  { operations, schemas }: RouteDeps,
): Promise<RouteResponse> {
  const wanted = parse(schemas.createKey, request.body);
  const key = await keys.createKey(operations, param(request, "code"), wanted);
  return { status: 201, body: { key } };
}

/** `DELETE …/keys/:key`. Contract §9. */
export async function deleteKey(
  request: RouteRequest,
  { operations }: RouteDeps,
): Promise<RouteResponse> {
  const [code, key] = [param(request, "code"), param(request, "key")];
  return ok({ key: await keys.revokeKey(operations, code, key) });
}

/** `POST …/keys/:key/rotate?graceMs=…`. Contract §9. */
export async function postRotation(
  request: RouteRequest,
  { operations }: RouteDeps,
): Promise<RouteResponse> {
  const [code, key] = [param(request, "code"), param(request, "key")];
  const { graceMs } = parse(RotateQuestion, Object.fromEntries(request.query));
  return ok({ key: await keys.rotateKey(operations, code, key, graceMs) });
}
