import type { Invite } from "@roomhub/client";
import { type Ban, durationInWords, type Room } from "@roomhub/protocol";
import { Option } from "commander";
import type { CliContext } from "../../context.ts";
import { CommandError, EXIT, UsageError } from "../../exit-code.ts";
import {
  type HubOptionValues,
  inviteOf,
  timeArgument,
  type RoomhubCommand,
} from "../../options.ts";
import { sizeOf } from "../../rooms/choose-room.ts";
import {
  forgetRoom,
  hostCommand,
  type HostOptionValues,
  roomAsHost,
} from "../../rooms/host-token.ts";
import { addPasswordOptions, type PasswordOptionValues, readPassword } from "../../secrets.ts";
import { interactivityOf } from "../../terminal/interactivity.ts";
import { formatTable, printDone, safe, writeJson } from "../../terminal/text.ts";

type HostValues = HubOptionValues & HostOptionValues;
type PasswordValues = HostValues & PasswordOptionValues & { none?: boolean };

/** What the host does with an existing room. Contract §9. */
export function addHostCommands(room: RoomhubCommand, context: CliContext): void {
  hostCommand(room, "rename")
    .argument("<name>", "its new name")
    .description("give a room another name; its code stays")
    .examples('roomhub room rename ABC234 "Class 7b"')
    .action(async (code: string, name: string, options: HostValues) => {
      const asHost = await roomAsHost(context, inviteOf(code, options), options);
      const renamed = await asHost.rename(name);
      const line = `Room ${renamed.code} is named ${safe(renamed.name)}`;
      printDone(context, options, { room: renamed }, line);
    });

  hostCommand(room, "password")
    .with(addPasswordOptions)
    .addOption(
      new Option("--none", "remove the join password").conflicts([
        "password",
        "passwordEnv",
        "passwordFile",
      ]),
    )
    .description("change a room's join password, or remove it; participants stay")
    .examples("roomhub room password ABC234", "roomhub room password ABC234 --none")
    .action((code: string, options: PasswordValues) =>
      setPassword(context, inviteOf(code, options), options),
    );

  hostCommand(room, "delete")
    .option("-y, --yes", "do not ask")
    .description("delete a room; what runs in it ends")
    .examples("roomhub room delete ABC234")
    .action((code: string, options: HostValues & { yes?: boolean }) =>
      deleteRoom(context, inviteOf(code, options), options),
    );

  hostCommand(room, "kick")
    .argument("<participant>", "id of the participant")
    .option("--ban <time>", "how long it may not join again (default: 1min)", timeArgument("1h"))
    .description("remove a participant from a room, and its machine for a while")
    .examples("roomhub room kick ABC234 ana-llama3.2-3b --ban 1h")
    .action(async (code: string, id: string, options: HostValues & { ban?: number }) => {
      const invite = inviteOf(code, options);
      await (await roomAsHost(context, invite, options)).kick(id, options.ban);
      const line = `${safe(id)} was removed from room ${invite.room}`;
      printDone(context, options, { success: true }, line);
    });
  addBanCommands(room, context);
  addBlockCommands(room, context);
}

function addBanCommands(room: RoomhubCommand, context: CliContext): void {
  hostCommand(room, "bans")
    .description("list who may not join a room, until when, and whose requests it refuses")
    .examples("roomhub room bans ABC234")
    .action(async (code: string, options: HostValues) => {
      const asHost = await roomAsHost(context, inviteOf(code, options), options);
      const [bans, blocked] = await Promise.all([asHost.bans(), asHost.blocked()]);
      if (options.json === true) return writeJson(context.stdout, { bans, blocked });
      printBans(context, bans, blocked);
    });

  hostCommand(room, "unban")
    .argument("<participant>", "id of the participant")
    .description("let a participant that was kicked join again")
    .examples("roomhub room unban ABC234 ana-llama3.2-3b")
    .action(async (code: string, id: string, options: HostValues) => {
      const invite = inviteOf(code, options);
      const asHost = await roomAsHost(context, invite, options);
      const isBanned = (await asHost.bans()).some((ban) => ban.id === id);
      const bans = await asHost.liftBan(id);
      const said = isBanned ? "may join" : "was not banned from";
      printDone(context, options, { bans }, `${safe(id)} ${said} room ${invite.room}`);
    });
}

function printBans({ stdout, stderr, world }: CliContext, bans: Ban[], blocked: string[]): void {
  const rows = [
    ...bans.map(({ id, address = "-", until }) => {
      const left = durationInWords(until - world.wallMs());
      return ["may not join", safe(id), safe(address), `for ${left}`];
    }),
    ...blocked.map((client) => ["may not send requests", safe(client), "-", "until unblocked"]),
  ];
  if (rows.length === 0) stderr.write("No one is banned or blocked\n");
  else stdout.write(formatTable(["what", "who", "address", "how long"], rows));
}

function addBlockCommands(room: RoomhubCommand, context: CliContext): void {
  for (const [verb, isBlocked, what] of [
    ["block", true, "refuse the requests of a client, or list who is blocked"],
    ["unblock", false, "let a blocked client send requests again"],
  ] as const) {
    hostCommand(room, verb)
      .argument(
        isBlocked ? "[client]" : "<client>",
        "name as requests are listed under, or address",
      )
      .description(what)
      .examples(`roomhub room ${verb} ABC234 eve`)
      .action(async (code: string, client: string | undefined, options: HostValues) => {
        const invite = inviteOf(code, options);
        const asHost = await roomAsHost(context, invite, options);
        const blocked = await (client === undefined
          ? asHost.blocked()
          : asHost.setBlocked(client, isBlocked));
        const list = blocked.map((one) => safe(one)).join(", ") || "no client";
        printDone(context, options, { blocked }, `Blocked in room ${invite.room}: ${list}`);
      });
  }
}

async function setPassword(
  context: CliContext,
  invite: Invite,
  options: PasswordValues,
): Promise<void> {
  const asHost = await roomAsHost(context, invite, options);
  const password = options.none === true ? null : await newPassword(context, invite, options);
  const room = await asHost.setPassword(password);
  const what = password === null ? "has no join password" : "has a new join password";
  printDone(context, options, { room }, `Room ${room.code} ${what}`);
}

async function newPassword(
  context: CliContext,
  { room }: Invite,
  options: PasswordValues,
): Promise<string> {
  const given = await readPassword(context, options);
  if (given !== undefined) return given;
  if (interactivityOf(context, options).canAsk)
    return context.prompts.askSecret(`New join password of room ${room}`);
  throw new UsageError(
    "The new join password is missing: pass --password-env VARIABLE, --password-file PATH or --none",
  );
}

async function deleteRoom(
  context: CliContext,
  invite: Invite,
  options: HostValues & { yes?: boolean },
): Promise<void> {
  const asHost = await roomAsHost(context, invite, options);
  if (options.yes !== true) await confirmDeletion(context, await asHost.room(), options);
  await asHost.delete();
  await forgetRoom(context, invite);
  printDone(context, options, { success: true }, `Room ${invite.room} was deleted`);
}

async function confirmDeletion(
  context: CliContext,
  room: Room,
  options: HostValues,
): Promise<void> {
  const { code, name } = room;
  if (!interactivityOf(context, options).canAsk)
    throw new UsageError(`Room ${code} is only deleted with --yes, where no question can be asked`);
  const isWanted = await context.prompts.pickOne(
    `Delete room ${code}, ${safe(name)}, with ${sizeOf(room)}? What runs in it ends`,
    [
      { value: false, label: "No" },
      { value: true, label: "Yes" },
    ],
  );
  if (!isWanted) throw new CommandError("Cancelled", undefined, EXIT.interrupted);
}
