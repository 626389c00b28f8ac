import { type AliasRequest, type Limits, utf8Length } from "@roomhub/protocol";
import type { Alias, AliasTable } from "../domain/aliases/alias-table.ts";
import type { Room } from "../domain/room.ts";
import { HubError } from "../errors.ts";
import { changeRoom } from "./change-room.ts";
import type { OperationContext, Peer } from "./context.ts";
import { requireHost } from "./ownership.ts";

/** `GET …/aliases`: the oldest first. Contract §3, "Aliases". @throws HubError `room_not_found` */
export function listAliases({ registry }: OperationContext, code: string): readonly Alias[] {
  return registry.room(code).aliases.list;
}

/**
 * `POST …/aliases`: a new alias, or other targets for a pattern that the room has. It is on disk when this resolves.
 *
 * @throws HubError `room_not_found`, `host_token_required`, `alias_loop`, `alias_limit_reached`, `field_too_large`,
 *   `cluster_unavailable`
 */
export async function putAlias(
  context: OperationContext,
  code: string,
  { pattern, targets }: AliasRequest,
  peer: Peer,
): Promise<{ alias: Alias; isNew: boolean }> {
  return changeAliases(context, code, peer, (room) => {
    const known = room.aliases.find(pattern);
    const alias = { pattern, targets, createdAt: known?.createdAt ?? context.wallMs() };
    const aliases = room.aliases.with(alias);
    checkAliases(room, aliases, context.limits);
    return { aliases, result: { alias, isNew: known === undefined } };
  });
}

/** `DELETE …/aliases?pattern=…`. @throws HubError `room_not_found`, `host_token_required`, `alias_not_found` */
export async function deleteAlias(
  context: OperationContext,
  code: string,
  pattern: string,
  peer: Peer,
): Promise<void> {
  return changeAliases(context, code, peer, (room) => {
    if (room.aliases.find(pattern) === undefined) {
      const shown = JSON.stringify(pattern.slice(0, 100));
      throw new HubError("alias_not_found", `Room ${room.code} has no alias ${shown}.`, {
        param: "pattern",
        hint: `List them: roomhub alias ${room.code}`,
      });
    }
    return { aliases: room.aliases.without(pattern), result: undefined };
  });
}

async function changeAliases<Result>(
  context: OperationContext,
  code: string,
  peer: Peer,
  change: (room: Room) => { aliases: AliasTable; result: Result },
): Promise<Result> {
  requireHost(context.registry.room(code), peer);
  return changeRoom(
    context,
    code,
    (room) => {
      const { aliases, result } = change(room);
      return { changed: { aliases }, result };
    },
    `Look at its aliases, and try again: roomhub alias ${code}`,
  );
}

function checkAliases(room: Room, aliases: AliasTable, limits: Limits): void {
  if (aliases.size > limits.aliasesPerRoom) {
    throw new HubError(
      "alias_limit_reached",
      `Room ${room.code} already has ${limits.aliasesPerRoom} aliases.`,
      {
        hint: `Remove one: roomhub alias ${room.code} PATTERN --delete. The host can raise ROOMHUB_ALIASES_PER_ROOM.`,
      },
    );
  }
  if (byteLength(aliases) > limits.roomAliasBytes) {
    throw new HubError(
      "field_too_large",
      `The aliases of room ${room.code} would be longer than ${limits.roomAliasBytes} bytes.`,
      { param: "targets", hint: `Use fewer targets, or shorter names: roomhub alias ${room.code}` },
    );
  }
  const { chain } = aliases;
  if (chain === undefined) return;
  throw new HubError(
    "alias_loop",
    `An alias leads to models, not to aliases: ${chain.alias.pattern} → ${chain.target}.`,
    { param: "targets", hint: "Write a model as model:NAME, which is never an alias." },
  );
}

function byteLength({ list }: AliasTable): number {
  return list
    .flatMap(({ pattern, targets }) => [pattern, ...targets])
    .reduce((bytes, text) => bytes + utf8Length(text), 0);
}
