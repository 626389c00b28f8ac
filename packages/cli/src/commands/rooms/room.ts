import type { Invite } from "@roomhub/client";
import type { Room } from "@roomhub/protocol";
import { createRoomCommand, sizeOf } from "../../rooms/choose-room.ts";
import { pastedHubAt, shareLine, watchUrlOf } from "../../rooms/invite-text.ts";
import {
  hostCommand,
  createHostedRoom,
  ensureOwnKey,
  hostedRooms,
  type HostOptionValues,
  readOperatorFile,
  roomAsHost,
  serveAnyModel,
} from "../../rooms/host-token.ts";
import type { CliContext } from "../../context.ts";
import { importStateFile, type ImportOptionValues } from "../../cluster/import-state-file.ts";
import { addNatsFlags } from "../../hosting/hub-settings.ts";
import { type HubOptionValues, inviteOf, type RoomhubCommand } from "../../options.ts";
import { addPasswordOptions, type PasswordOptionValues, readPassword } from "../../secrets.ts";
import { formatTable, safe, writeJson } from "../../terminal/text.ts";
import { addHostCommands } from "./room-host.ts";

interface CreateOptionValues extends HubOptionValues, PasswordOptionValues {
  closed?: boolean;
  anyModel?: boolean;
  operatorFile?: string;
}

export function addRoomCommand(program: RoomhubCommand, context: CliContext): void {
  const room = program
    .command("room")
    .alias("rooms")
    .examples('roomhub room create "Ana\'s lab"', "roomhub room list");

  room
    .command("create")
    .hubOptions()
    .with(addPasswordOptions)
    .argument("<name>", "name of the room")
    .description("create a room and print its code")
    .option("--closed", "its use needs a key: roomhub key create")
    .option(
      "--operator-file <path>",
      "where only the hub's operator creates rooms: its file operator-secret",
    )
    .option("--any-model", "serve every model name that is requested, with any participant")
    .examples('roomhub room create "Ana\'s lab" --password-env LAB_PASSWORD')
    .action((name: string, options: CreateOptionValues) => createRoom(context, name, options));

  room
    .command("list")
    .hubOptions()
    .description("list the hub's rooms")
    .examples("roomhub room list --json")
    .action((options: HubOptionValues) => listRooms(context, options));

  room
    .command("show")
    .hubOptions()
    .roomArgument()
    .description("show a room and how to use it")
    .examples("roomhub room show ABC234")
    .action((code: string, options: HubOptionValues) => showRoom(context, code, options));

  for (const [verb, isClosed, what] of [
    ["close", true, "require a key for the use of a room"],
    ["open", false, "let everyone use a closed room; its keys are kept"],
  ] as const) {
    hostCommand(room, verb)
      .description(what)
      .examples(`roomhub room ${verb} ABC234`)
      .action((code: string, options: HubOptionValues & HostOptionValues) =>
        setClosed(context, inviteOf(code, options), isClosed, options),
      );
  }

  addHostCommands(room, context);

  room
    .command("import")
    .with(addNatsFlags)
    .jsonOption()
    .argument("<file>", "state file of a hub that was alone")
    .description("put the rooms of a state file into a cluster")
    .examples("roomhub room import rooms-5050.json --nats nats://127.0.0.1:4222")
    .action((path: string, options: ImportOptionValues) => importStateFile(context, path, options));
}

async function createRoom(
  context: CliContext,
  name: string,
  options: CreateOptionValues,
): Promise<void> {
  const password = await readPassword(context, options);
  const client = context.createClient(options.hub);
  const { operatorFile } = options;
  const wanted = {
    ...{ name, password, ...(options.closed === true && { closed: true }) },
    operatorSecret:
      operatorFile === undefined ? undefined : await readOperatorFile(context, operatorFile),
  };
  const { room, hostId, hostToken, key } = await createHostedRoom(
    context,
    client,
    options.hub,
    wanted,
  );
  if (options.anyModel === true)
    await serveAnyModel(context, { hubUrl: options.hub, room: room.code });
  if (options.json === true)
    return writeJson(context.stdout, {
      room,
      hostId,
      hostToken,
      key,
      baseUrl: client.baseUrl(room.code),
    });
  context.stdout.write(`${safe(room.code)}\n`);
  context.stderr.write(await usageOfRoom(context, room, options.hub));
}

async function listRooms(context: CliContext, options: HubOptionValues): Promise<void> {
  const client = context.createClient(options.hub);
  const listed = await client.listRooms();
  const rooms = [...listed, ...(await hostedRooms(context, client, options.hub, listed))];
  if (options.json === true) writeJson(context.stdout, { rooms });
  else if (rooms.length === 0) {
    context.stderr.write(
      `The hub at ${options.hub} has no rooms.\n→ ${createRoomCommand(context, options.hub)}\n`,
    );
  } else {
    const rows = rooms.map((room) => [
      safe(room.code),
      room.closed === true ? `${safe(room.name)} (closed)` : safe(room.name),
      String(room.participantCount),
      room.passwordProtected ? "yes" : "no",
      new Date(room.createdAt).toISOString().slice(0, 10),
    ]);
    context.stdout.write(
      formatTable(["code", "name", "participants", "join password", "created"], rows),
    );
  }
}

async function showRoom(
  context: CliContext,
  code: string,
  options: HubOptionValues,
): Promise<void> {
  const invite = inviteOf(code, options);
  const client = context.createClient(invite.hubUrl);
  const room = await client.getRoom(invite.room);
  if (options.json === true)
    return writeJson(context.stdout, { room, baseUrl: client.baseUrl(room.code) });
  context.stdout.write(`${safe(room.code)}  ${safe(room.name)}  (${sizeOf(room)})\n`);
  context.stderr.write(await usageOfRoom(context, room, invite.hubUrl));
}

async function setClosed(
  context: CliContext,
  invite: Invite,
  isClosed: boolean,
  options: HubOptionValues & HostOptionValues,
): Promise<void> {
  const asHost = await roomAsHost(context, invite, options);
  const { room, warnings = [] } = await asHost.setClosed(isClosed);
  const isHosts = options.operatorFile === undefined;
  if (isClosed && isHosts) await ensureOwnKey(context, invite, asHost);
  if (options.json === true) return writeJson(context.stdout, { room, warnings });
  for (const { message } of warnings) context.stderr.write(`! ${safe(message)}\n`);
  const line = `${context.commandName} invite ${invite.hubUrl}/rooms/${invite.room} --for NAME`;
  context.stderr.write(
    isClosed
      ? `Room ${invite.room} is closed: its use needs a key${isHosts ? ". Yours is kept on this machine" : ""}\n→ let someone in: ${line}\n`
      : `Room ${invite.room} is open: everyone may use it\n`,
  );
}

async function usageOfRoom(context: CliContext, room: Room, hubUrl: string): Promise<string> {
  const code = safe(room.code);
  const hub = await pastedHubAt(context, hubUrl);
  const watchUrl = watchUrlOf(hub, code);
  const passwordNote = "          (prompts for the join password, or reads ROOMHUB_PASSWORD)";
  const useIt =
    room.closed === true
      ? [
          `Use it:   ${context.commandName} chat ${hub.hubUrl}/rooms/${code}  (with a key)`,
          `Invite:   ${context.commandName} invite ${hub.hubUrl}/rooms/${code} --for NAME`,
        ]
      : [`Use it:   export OPENAI_BASE_URL=${hub.hubUrl}/rooms/${code}/v1 OPENAI_API_KEY=roomhub`];
  return [
    ...useIt,
    `Join it:  ${shareLine(context, hub, code)}`,
    ...(room.passwordProtected ? [passwordNote] : []),
    ...(watchUrl === undefined ? [] : [`Watch it: ${watchUrl}`]),
    "",
  ].join("\n");
}
