import type { Invite } from "@roomhub/client";
import { withTls } from "@roomhub/protocol";
import { Argument } from "commander";
import type { CliContext } from "../context.ts";
import { CommandError, EXIT, UsageError } from "../exit-code.ts";
import { clientName, type HubOptionValues, type RoomhubCommand } from "../options.ts";
import {
  accessByDoor,
  type DoorAccess,
  doorUrl,
  newDoorKey,
  requiredDoor,
  roomOfDoor,
} from "../door/door-access.ts";
import { chooseModel, type ChosenModel } from "../programs/choose-model.ts";
import type { ProgramHost } from "../programs/program-host.ts";
import {
  isOther,
  type OtherProgramName,
  otherProgramNames,
  otherPrograms,
  settingsJson,
  settingsText,
  variableLines,
} from "../programs/other-programs.ts";
import {
  accessKey,
  type Program,
  type ProgramName,
  programNames,
  programs,
  type RoomAccess,
} from "../programs/program-table.ts";
import { commandLine } from "../programs/shell-syntax.ts";
import { chooseRoom } from "../rooms/choose-room.ts";
import { closedRoomKey } from "../rooms/room-keys.ts";
import { interactivityOf } from "../terminal/interactivity.ts";
import { shellWord, writeJson } from "../terminal/text.ts";

interface LaunchOptionValues extends HubOptionValues {
  model?: string;
  pick?: boolean;
  as?: string;
  print?: boolean;
}

/** @param words - the command line, in which `--` ends the arguments of this command */
export function addLaunchCommand(
  program: RoomhubCommand,
  context: CliContext,
  words: readonly string[],
): void {
  program
    .command("launch")
    .addArgument(
      new Argument("<program>", "what to start").choices([...programNames, ...otherProgramNames]),
    )
    .argument("[room]", "room code, invite URL or hub URL (default: the only one there is)")
    .argument("[args...]", "after --: arguments of the program")
    .hubOptions()
    .option("--model <selector>", "participant id, model name, or * for any")
    .option("--pick", "select the model again that is remembered for this folder")
    .option("--as <name>", "name the person who sends the requests", clientName)
    .option("--print", "print all that it would set, and start nothing")
    .addHelpText(
      "after",
      `
The settings last as long as the program: none of your files is changed. For
cline, continue, zed and openwebui they are printed, and nothing is started.

Example:
  $ roomhub launch claude
  $ roomhub launch codex ABC234 --model qwen3-coder
  $ roomhub launch opencode -- run "Explain this repository"`,
    )
    .action(
      async (
        name: ProgramName | OtherProgramName,
        room: string | undefined,
        args: string[],
        options: LaunchOptionValues,
      ) => {
        const own = words.includes("--") ? words.slice(words.indexOf("--") + 1) : [];
        const given = [...(room === undefined ? [] : [room]), ...args];
        const before = given.slice(0, given.length - own.length);
        if (before.length > 1) {
          throw new UsageError(
            `Arguments of ${name} follow --: ${context.commandName} launch ${name} ${shellWord(before[0] ?? "")} -- ${before.slice(1).map(shellWord).join(" ")}`,
          );
        }
        const code = await launch(context, { name, room: before[0], userArgs: own }, options);
        if (code !== 0) context.exitNow(code);
      },
    );
}

interface Wanted {
  name: ProgramName | OtherProgramName;
  room: string | undefined;
  userArgs: readonly string[];
}

/** @returns the program's exit code */
async function launch(
  context: CliContext,
  { name, room, userArgs }: Wanted,
  options: LaunchOptionValues,
): Promise<number> {
  const { namedHub: hubUrl } = options;
  const host = await context.programHost();
  const isPrinted = options.print === true || options.json === true || isOther(name);
  if (!isPrinted && !isOther(name) && !host.has(name)) {
    const { title, install } = programs[name];
    const problem = `${title} is not installed: there is no program ${name}`;
    throw new CommandError(problem, `install it: ${install}`);
  }
  const interactivity = interactivityOf(context, options);
  const here = `launch ${name}` as const;
  const invite =
    (room === undefined ? undefined : await roomOfDoor(context, room, hubUrl)) ??
    (await chooseRoom(context, { given: room, hubUrl }, interactivity, here));
  const { title, surface } = isOther(name) ? otherPrograms[name] : programs[name];
  const question = { ...invite, title, surface, here, folder: host.currentFolder };
  const { canAsk } = interactivity;
  const model = await chooseModel(context, question, { ...options, canAsk });
  const client = context.createClient(invite.hubUrl);
  const roomKey = await closedRoomKey(context, invite);
  const door: LaunchDoor | undefined = isPrinted
    ? await requiredDoor(context, invite)
    : await doorOfLaunch(context, invite, accessKey(roomKey, options.as));
  const access: RoomAccess = {
    baseUrl: door?.baseUrl ?? client.baseUrl(invite.room),
    ...accessKey(door?.key ?? roomKey, options.as),
    model: model.selector,
    context: model.context,
  };
  if (isOther(name)) {
    warn(context, { title }, model);
    const settings = otherPrograms[name].settings(access);
    if (options.json === true) writeJson(context.stdout, settingsJson(settings));
    else context.stdout.write(settingsText(settings, "sh"));
    context.stderr.write(`→ ${otherPrograms[name].how}\n`);
    return EXIT.ok;
  }
  try {
    return await start(context, host, { name, userArgs, access, model }, options);
  } finally {
    await door?.close?.();
  }
}

/** `close`: of one that is open for this launch alone. */
type LaunchDoor = DoorAccess & { close?: () => Promise<void> };

/** The open door to the room. Without one, a door for this launch is opened if the hub has a pinned key: programs cannot check pins. */
async function doorOfLaunch(
  context: CliContext,
  invite: Invite,
  { key: hubKey, isNamed, isSecret }: ReturnType<typeof accessKey>,
): Promise<LaunchDoor | undefined> {
  const door = await accessByDoor(context, invite);
  const pin = await context.pins.of(invite.hubUrl);
  if (door !== undefined || pin === undefined) return door;
  const key = newDoorKey(context);
  const { port, close } = await context.openDoor({
    ...{ port: 0, room: { ...invite, hubUrl: withTls(invite.hubUrl) }, pin, key, origins: [] },
    hubKey: isNamed || isSecret ? hubKey : undefined,
    openedBy: "roomhub launch",
    keyHint: "use the key that the program was started with",
    world: context.world,
    onRequest: () => undefined,
  });
  return { baseUrl: doorUrl(port), key, close };
}

interface Start {
  name: ProgramName;
  userArgs: readonly string[];
  access: RoomAccess;
  model: ChosenModel;
}

/** @returns the program's exit code; 0 when its settings are only printed */
async function start(
  context: CliContext,
  host: ProgramHost,
  { name, userArgs, access, model }: Start,
  options: LaunchOptionValues,
): Promise<number> {
  const program: Program = programs[name];
  const folder = host.createFolder();
  try {
    const {
      variables = {},
      args = userArgs,
      files = {},
    } = program.settings(access, {
      folder: folder.path,
      env: context.env,
      platform: context.platform,
      userArgs,
      read: (path) => host.read(path),
    });
    warn(context, program, model);
    const command = [name, ...args];
    if (options.json === true) writeJson(context.stdout, { command, variables, files });
    else if (options.print === true) print(context, command, variables, files);
    if (options.json === true || options.print === true) return EXIT.ok;
    for (const [file, text] of Object.entries(files)) folder.write(file, text);
    if (context.stderr.isTTY) {
      context.stderr.write(`${program.title} with ${model.name} of ${access.baseUrl}\n`);
    }
    const env = { ...context.env };
    for (const [variable, value] of Object.entries(variables)) env[variable] = value ?? undefined;
    return await host.run(name, args, { env, folder });
  } finally {
    folder.remove();
  }
}

function warn(
  { stderr }: CliContext,
  { title, leastContext = 0 }: Pick<Program, "title" | "leastContext">,
  { name, context }: ChosenModel,
): void {
  if (context === undefined) {
    stderr.write(
      `! The room does not know the context of ${name}, so ${title} may fill more than there is\n`,
    );
    stderr.write("→ its owner can declare it: roomhub join … --context 32768\n");
  } else if (context < leastContext) {
    stderr.write(
      `! ${name} has a context of ${tokens(context)}; ${title} needs about ${tokens(leastContext)}, most of it for its own prompt\n`,
    );
  }
}

function tokens(count: number): string {
  return `${count.toLocaleString("en-US")} tokens`;
}

/** As a script for a shell, with the files as comments. */
function print(
  { stdout }: CliContext,
  command: readonly string[],
  variables: Record<string, string | null>,
  files: Record<string, string>,
): void {
  stdout.write(variableLines(variables, "sh"));
  for (const [file, text] of Object.entries(files)) {
    stdout.write(`# ${file}:\n${text.trimEnd().replaceAll(/^/gm, "#   ")}\n`);
  }
  stdout.write(`${commandLine("sh", command)}\n`);
}
