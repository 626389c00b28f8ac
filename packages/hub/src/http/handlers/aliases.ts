import * as aliases from "../../operations/aliases.ts";
import { getRoom } from "../../operations/rooms.ts";
import { HubError } from "../../errors.ts";
import type { JsonHandler } from "../route.ts";
import { ok, parse } from "./parse.ts";

/** `GET …/aliases`. Contract §3, "Aliases". */
export const listAliases: JsonHandler = ({ code }, { operations }) =>
  ok({ aliases: aliases.listAliases(operations, code) });

/** `POST …/aliases`. Contract §3, "Aliases". */
export const postAlias: JsonHandler = async ({ code, body, peer }, { operations, schemas }) => {
  // An unknown room is reported before anything that is wrong with the body.
  getRoom(operations, code);
  const wanted = parse(schemas.alias, body);
  const { alias, isNew } = await aliases.putAlias(operations, code, wanted, peer);
  return { status: isNew ? 201 : 200, body: { alias } };
};

/** `DELETE …/aliases?pattern=…`. Contract §3, "Aliases". */
export const deleteAlias: JsonHandler = async ({ code, query, peer }, { operations }) => {
  getRoom(operations, code);
  const pattern = query.get("pattern");
  if (pattern === null) {
    throw new HubError("missing_required_parameter", "The query has no pattern.", {
      param: "pattern",
      hint: "DELETE …/aliases?pattern=claude-*",
    });
  }
  await aliases.deleteAlias(operations, code, pattern, peer);
  return ok({ success: true });
};
