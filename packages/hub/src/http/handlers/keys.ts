import { RotateQuestion } from "@roomhub/protocol";
import * as keys from "../../operations/keys.ts";
import { ok, param, parse } from "./parse.ts";
import type { JsonHandler } from "../route.ts";

/** `POST …/close`. Contract §9. */
export const postClose: JsonHandler = async (request, { operations }) =>
  ok({ room: await keys.closeRoom(operations, param(request, "code")) });

/** `POST …/open`. Contract §9. */
export const postOpen: JsonHandler = async (request, { operations }) => {
  const { room, warnings } = await keys.openRoom(operations, param(request, "code"));
  return ok({ room, ...(warnings.length === 0 ? {} : { warnings }) });
};

/** `GET …/keys`. Contract §9. */
export const listKeys: JsonHandler = (request, { operations }) =>
  ok({ keys: keys.listKeys(operations, param(request, "code")) });

/** `POST …/keys`. Contract §9. */
export const postKey: JsonHandler = async (request, { operations, schemas }) => {
  const wanted = parse(schemas.createKey, request.body);
  const key = await keys.createKey(operations, param(request, "code"), wanted);
  return { status: 201, body: { key } };
};

/** `DELETE …/keys/:key`. Contract §9. */
export const deleteKey: JsonHandler = async (request, { operations }) => {
  const [code, key] = [param(request, "code"), param(request, "key")];
  return ok({ key: await keys.revokeKey(operations, code, key) });
};

/** `POST …/keys/:key/rotate?graceMs=…`. Contract §9. */
export const postRotation: JsonHandler = async (request, { operations }) => {
  const [code, key] = [param(request, "code"), param(request, "key")];
  const { graceMs } = parse(RotateQuestion, Object.fromEntries(request.query));
  return ok({ key: await keys.rotateKey(operations, code, key, graceMs) });
};
