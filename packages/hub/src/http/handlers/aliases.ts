import * as aliases from "../../operations/aliases.ts";
import { getRoom } from "../../operations/rooms.ts";
import { HubError } from "../../errors.ts";
import type { JsonHandler } from "../route.ts";
import { ok, param, parse } from "./parse.ts";

/** `GET …/aliases`. Contract §3, "Aliases". */
export const listAliases: JsonHandler = (request, { operations }) => {
  const code = param(request, "code");
  return ok({ aliases: aliases.listAliases(operations, code) });
};

/** `POST …/aliases`. Contract §3, "Aliases". */
export const postAlias: JsonHandler = async (request, { operations, schemas }) => {
  const code = param(request, "code");
  // An unknown room is reported before anything that is wrong with the body.
  getRoom(operations, code);
  const wanted = parse(schemas.alias, request.body);
  const { alias, isNew } = await aliases.putAlias(operations, code, wanted, request.peer);
  return { status: isNew ? 201 : 200, body: { alias } };
};

/** `DELETE …/aliases?pattern=…`. Contract §3, "Aliases". */
export const deleteAlias: JsonHandler = async (request, { operations }) => {
  const code = param(request, "code");
  getRoom(operations, code);
  const pattern = request.query.get("pattern");
  if (pattern === null) {
    throw new HubError("missing_required_parameter", "The query has no pattern.", {
      param: "pattern",
      hint: "DELETE …/aliases?pattern=claude-*",
    });
  }
  await aliases.deleteAlias(operations, code, pattern, request.peer);
  return ok({ success: true });
};
