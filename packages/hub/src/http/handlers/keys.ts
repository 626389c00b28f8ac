import { RotateQuestion } from "@roomhub/protocol";
import * as keys from "../../operations/keys.ts";
import { ok, param, parse } from "./parse.ts";
import type { JsonHandler } from "../route.ts";

/** `POST …/close`. Contract §9. */
export const postClose: JsonHandler = async ({ code }, { operations }) =>
  ok({ room: await keys.closeRoom(operations, code) });

/** `POST …/open`. Contract §9. */
export const postOpen: JsonHandler = async ({ code }, { operations }) => {
  const { room, warnings } = await keys.openRoom(operations, code);
  return ok({ room, ...(warnings.length === 0 ? {} : { warnings }) });
};

/** `GET …/keys`. Contract §9. */
export const listKeys: JsonHandler = ({ code }, { operations }) =>
  ok({ keys: keys.listKeys(operations, code) });

/** `POST …/keys`. Contract §9. */
export const postKey: JsonHandler = async ({ code, body }, { operations, schemas }) => {
  const wanted = parse(schemas.createKey, body);
  return { status: 201, body: { key: await keys.createKey(operations, code, wanted) } };
};

/** `DELETE …/keys/:key`. Contract §9. */
export const deleteKey: JsonHandler = async (request, { operations }) => {
  const key = param(request, "key");
  return ok({ key: await keys.revokeKey(operations, request.code, key) });
};

/** `POST …/keys/:key/rotate?graceMs=…`. Contract §9. */
export const postRotation: JsonHandler = async (request, { operations }) => {
  const key = param(request, "key");
  const { graceMs } = parse(RotateQuestion, Object.fromEntries(request.query));
  return ok({ key: await keys.rotateKey(operations, request.code, key, graceMs) });
};
