import type { Invite } from "@roomhub/client";
import { type Key, KeyRight, type NewKey } from "@roomhub/protocol";
import { type Command, InvalidArgumentError } from "commander";
import type { CliContext } from "../../context.ts";
import {
  clientName,
  type HubOptionValues,
  inviteOf,
  positiveArgument,
  timeArgument,
  type RoomhubCommand,
} from "../../options.ts";
import { hostCommand, type HostOptionValues, roomAsHost } from "../../rooms/host-token.ts";
import { roomArgumentOf } from "../../rooms/hub-address.ts";
import { formatTable, printDone, safe, shellWord, writeJson } from "../../terminal/text.ts";

type KeyOptionValues = HubOptionValues & HostOptionValues;

/** What a new key permits, and until when. */
export interface NewKeyOptionValues {
  may?: KeyRight[];
  models?: string[];
  requestsPerMinute?: number;
  tokensPerDay?: number;
  expires?: number;
}

export function addKeyCommand(program: RoomhubCommand, context: CliContext): void {
  const key = program
    .command("key")
    .alias("keys")
    .examples("roomhub key create ABC234 --name ada", "roomhub key list ABC234");

  hostCommand(key, "create")
    .with(addNewKeyOptions)
    .requiredOption("--name <name>", "whose key it is; requests are listed under it", clientName)
    .description("create a key and print it, once")
    .examples(
      "roomhub key create ABC234 --name ada --expires 7d",
      "roomhub key create ABC234 --name lab-pc --may share",
    )
    .action((room: string, options: KeyOptionValues & NewKeyOptionValues & { name: string }) =>
      create(context, inviteOf(room, options), options),
    );

  hostCommand(key, "list")
    .description("list a room's keys, without their values")
    .examples("roomhub key list ABC234")
    .action((room: string, options: KeyOptionValues) =>
      list(context, inviteOf(room, options), options),
    );

  hostCommand(key, "revoke")
    .argument("<key>", "name or id of the key")
    .description("end a key: its holder is refused from now on")
    .examples("roomhub key revoke ABC234 ada")
    .action(async (room: string, name: string, options: KeyOptionValues) => {
      const invite = inviteOf(room, options);
      const revoked = await (await roomAsHost(context, invite, options)).revokeKey(name);
      const line = `The key of ${safe(revoked.name)} is revoked in room ${invite.room}`;
      printDone(context, options, { key: revoked }, line);
    });

  hostCommand(key, "rotate")
    .argument("<key>", "name or id of the key")
    .description("give a key another value and print it, once")
    .option(
      "--grace <time>",
      "how long the value before stays valid (default: 0s)",
      timeArgument("7d"),
    )
    .examples("roomhub key rotate ABC234 ada --grace 1h")
    .action(async (room: string, name: string, options: KeyOptionValues & { grace?: number }) => {
      const invite = inviteOf(room, options);
      const rotated = await (
        await roomAsHost(context, invite, options)
      ).rotateKey(name, options.grace);
      printKey(context, invite, rotated, options);
    });
}

export function addNewKeyOptions(command: Command): void {
  command
    .option(
      "--may <rights>",
      "what it permits: use, share, watch (default: use,watch)",
      rightsArgument,
    )
    .option(
      "--models <names>",
      "models that it permits, like llama3,qwen3 (default: all)",
      modelsArgument,
    )
    .option(
      "--requests-per-minute <number>",
      "how many requests it permits in a minute (default: any number)",
      positiveArgument,
    )
    .option(
      "--tokens-per-day <number>",
      "how many tokens it permits in a day of the hub (default: any number)",
      positiveArgument,
    )
    .option(
      "--expires <time>",
      "how long it is valid, like 7d or 12h (default: always)",
      timeArgument("7d"),
    );
}

async function create(
  context: CliContext,
  invite: Invite,
  options: KeyOptionValues & NewKeyOptionValues & { name: string },
): Promise<void> {
  const { key, isClosed } = await createKey(context, invite, options.name, options);
  printKey(context, invite, key, options);
  if (!isClosed) warnAboutOpenRoom(context, invite);
}

/** Creates a key as the host of the room. */
export async function createKey(
  context: CliContext,
  invite: Invite,
  name: string,
  {
    may,
    models,
    requestsPerMinute,
    tokensPerDay,
    expires,
    ...proof
  }: NewKeyOptionValues & HostOptionValues,
): Promise<{ key: NewKey; isClosed: boolean; passwordProtected: boolean }> {
  const asHost = await roomAsHost(context, invite, proof);
  const { closed, passwordProtected } = await asHost.room();
  const key = await asHost.createKey({
    name,
    may,
    models,
    requestsPerMinute,
    tokensPerDay,
    expiresInMs: expires,
  });
  return { key, isClosed: closed === true, passwordProtected };
}

export function warnAboutOpenRoom({ stderr, commandName }: CliContext, invite: Invite): void {
  stderr.write(
    `! Room ${invite.room} is open: everyone may use it, with a key or without\n→ ${commandName} room close ${shellWord(roomArgumentOf(invite))}\n`,
  );
}

/** The key alone on stdout, so that it can be kept in a file; what to do with it on stderr. */
function printKey(
  { stdout, stderr, commandName }: CliContext,
  invite: Invite,
  key: NewKey,
  { json }: KeyOptionValues,
): void {
  if (json === true) return writeJson(stdout, { key });
  stdout.write(`${safe(key.value)}\n`);
  stderr.write(
    [
      `The key of ${safe(key.name)} to ${key.may.join(", ")} in room ${invite.room}. It is not shown again`,
      `→ as the API key of any client at ${invite.hubUrl}/rooms/${invite.room}/v1`,
      `→ or with roomhub, which asks for it: ${commandName} chat ${shellWord(roomArgumentOf(invite))}`,
      "",
    ].join("\n"),
  );
}

async function list(context: CliContext, invite: Invite, options: KeyOptionValues): Promise<void> {
  const keys = await (await roomAsHost(context, invite, options)).listKeys();
  if (options.json === true) return writeJson(context.stdout, { keys });
  if (keys.length === 0) {
    const line = `${context.commandName} key create ${shellWord(roomArgumentOf(invite))} --name NAME`;
    context.stderr.write(`Room ${invite.room} has no keys.\n→ ${line}\n`);
    return;
  }
  const nowMs = context.world.wallMs();
  const rows = keys.map((key) => [
    safe(key.name),
    key.may.join(", "),
    safe(key.models?.join(", ") ?? "all"),
    key.requestsPerMinute === undefined ? "any" : String(key.requestsPerMinute),
    spentOf(key),
    stateOf(key, nowMs),
    safe(key.lastSeenDay ?? "never"),
    dayOf(key.createdAt),
  ]);
  const heads = [
    "name",
    "may",
    "models",
    "per minute",
    "spent today",
    "state",
    "last seen",
    "created",
  ];
  context.stdout.write(formatTable(heads, rows, context.stdout.columns));
}

/** Of the tokens that it permits in a day. */
function spentOf({ tokensPerDay, spentToday = 0 }: Key): string {
  if (tokensPerDay === undefined) return "not counted";
  return [spentToday, tokensPerDay].map((count) => count.toLocaleString("en-US")).join(" of ");
}

function stateOf({ revokedAt, expiresAt }: Key, nowMs: number): string {
  if (revokedAt !== undefined) return `revoked ${dayOf(revokedAt)}`;
  if (expiresAt === undefined) return "valid";
  return `${expiresAt <= nowMs ? "expired" : "until"} ${dayOf(expiresAt)}`;
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** @throws InvalidArgumentError */
function rightsArgument(text: string): KeyRight[] {
  const rights = text.split(",").map((word) => KeyRight.safeParse(word.trim()).data);
  const known = rights.filter((right) => right !== undefined);
  if (known.length === rights.length) return known;
  throw new InvalidArgumentError("Use one or several of use, share and watch, like use,watch.");
}

/** @throws InvalidArgumentError */
function modelsArgument(text: string): string[] {
  const models = text.split(",").map((name) => name.trim());
  if (!models.includes("")) return models;
  throw new InvalidArgumentError(
    "Use names of models with commas between them, like llama3,qwen3.",
  );
}
