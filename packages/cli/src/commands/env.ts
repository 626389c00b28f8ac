import { HubUnreachableError, type Invite } from "@roomhub/client";
import { type ParticipantSummary, withoutLatest } from "@roomhub/protocol";
import { Option } from "commander";
import { canReplaceStandIn } from "@roomhub/room-state";
import type { CliContext } from "../context.ts";
import { contextOf } from "../chat/model-choices.ts";
import { requiredDoor, roomOfDoor } from "../door/door-access.ts";
import {
  isOther,
  type OtherProgramName,
  otherProgramNames,
  otherPrograms,
  settingsJson,
  settingsText,
  type ShellSettings,
} from "../programs/other-programs.ts";
import {
  accessKey,
  type Program,
  type ProgramName,
  programNames,
  programs,
} from "../programs/program-table.ts";
import { evaluations, failures, quotes, type Shell, shells } from "../programs/shell-syntax.ts";
import { roomArgumentOf } from "../rooms/hub-address.ts";
import { locateRoom } from "../rooms/locate.ts";
import { unreachableHubHint, warnUnlessRouted } from "../rooms/hub-hint.ts";
import { clientName, type HubOptionValues, inviteOf, type RoomhubCommand } from "../options.ts";
import { reasonOf, safe, shellWord, writeJson } from "../terminal/text.ts";
import { CommandError, EXIT } from "../exit-code.ts";

/** Programs that a shell can point at a room; `openai` stands for programs that read OpenAI's variables. */
type ShellProgram = ProgramName | OtherProgramName | "openai";
const shellPrograms: readonly ShellProgram[] = [
  ...programNames.filter((name) => (programs[name] as Program).needsFiles !== true),
  ...otherProgramNames,
  "openai",
];

interface EnvOptionValues extends HubOptionValues {
  for?: ShellProgram;
  model?: string;
  as?: string;
  shell: Shell | "json";
}

export function addEnvCommand(program: RoomhubCommand, context: CliContext): void {
  const command = program
    .command("env")
    .argument("[room]", "room code or invite URL (default: the hub's only room)")
    .hubOptions()
    .addOption(
      new Option("--for <program>", "print what one program needs instead").choices(shellPrograms),
    )
    .option("--model <selector>", "set a model too: participant id, model name, or * for any")
    .option("--as <name>", "name the person who sends the requests", clientName)
    .addOption(
      new Option("--shell <shell>", "syntax of the output")
        .choices([...shells, "json"])
        .default("sh"),
    )
    .examples(
      'eval "$(roomhub env ABC234)"',
      "roomhub env ABC234 --as alice",
      "roomhub env ABC234 --for claude",
      "roomhub env ABC234 --shell fish | source",
    )
    .exitOverride((error) => {
      if (error.exitCode !== EXIT.ok) failInShell(context, command.opts(), error);
      throw error;
    })
    .action(async (room: string | undefined, options: EnvOptionValues) => {
      try {
        await printEnv(context, room, options);
      } catch (error) {
        failInShell(context, options, error);
        throw error;
      }
    });
}

/**
 * Makes a shell that evaluates the output fail too; otherwise a program started next would use the account that it is
 * logged in to. That is not needed for settings that go into a file, nor on a terminal, where a person reads the error.
 */
function failInShell(
  { stdout }: CliContext,
  { shell, json, for: program }: EnvOptionValues,
  error: unknown,
): void {
  if (
    json === true ||
    shell === "json" ||
    program === "continue" ||
    program === "zed" ||
    stdout.isTTY
  )
    return;
  const reason = reasonOf(error).replace(/^error: /, "");
  stdout.write(`${failures[shell](`roomhub env has set nothing: ${safe(reason)}`)}\n`);
}

/** An unreachable hub is only a warning. */
async function printEnv(
  context: CliContext,
  room: string | undefined,
  options: EnvOptionValues,
): Promise<void> {
  const invite = await roomIn(context, room, options);
  const client = context.createClient(invite.hubUrl);
  let { model } = options;
  let tokens: number | undefined;
  let isClosed = true;
  try {
    isClosed = (await client.getRoom(invite.room)).closed === true;
    if (model !== undefined) await warnUnlessRouted(context, invite, model);
    if (options.for !== undefined && options.for !== "openai") {
      const participants = await client.listParticipants(invite.room);
      model ??= onlyModel(context, participants, invite, `--for ${options.for}`);
      tokens = contextOf(participants, model);
    }
  } catch (error) {
    if (!(error instanceof HubUnreachableError)) throw error;
    context.stderr.write(`! ${safe(error.message)}\n→ ${unreachableHubHint(context, error)}\n`);
  }
  const door = await requiredDoor(context, invite);
  const key = door?.key ?? (isClosed ? await context.roomKeys.of(invite) : undefined);
  const baseUrl = door?.baseUrl ?? client.baseUrl(invite.room);
  const setup = setupOf(baseUrl, { ...options, model, tokens, key });
  const shell = options.json === true ? "json" : options.shell;
  if (shell === "json") return writeJson(context.stdout, settingsJson(setup));
  context.stdout.write(settingsText(setup, shell));
  if (context.stdout.isTTY) printUsage(context, invite, { ...options, shell }, setup);
}

async function roomIn(
  context: CliContext,
  room: string | undefined,
  options: EnvOptionValues,
): Promise<Invite> {
  if (room !== undefined)
    return (await roomOfDoor(context, room, options.hub)) ?? inviteOf(room, options);
  return locateRoom(context, undefined, options, (url) => envCommand(url, options));
}

type Wanted = Pick<EnvOptionValues, "for" | "model" | "as"> & {
  /** of the model's context, where the room knows it */
  tokens?: number | undefined;
  /** of a closed room */
  key?: string | undefined;
};

function setupOf(baseUrl: string, wanted: Wanted): ShellSettings {
  const { for: program, model, as, tokens } = wanted;
  const { key, ...named } = accessKey(wanted.key, as);
  const withModel = (name: string) => (model === undefined ? {} : { [name]: model });
  const openai = { OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: key };
  if (program === "openai") {
    return { kind: "variables", variables: { ...openai, ...withModel("OPENAI_MODEL") } };
  }
  if (program === undefined) {
    const variables = {
      ...openai,
      // Anthropic's SDKs append /v1 themselves.
      ANTHROPIC_BASE_URL: baseUrl.replace(/\/v1$/, ""),
      ANTHROPIC_API_KEY: key,
      ...withModel("OPENAI_MODEL"),
      ...withModel("ANTHROPIC_MODEL"),
    };
    return { kind: "variables", variables };
  }
  const room = { baseUrl, key, ...named, model: model ?? "*", context: tokens };
  if (isOther(program)) return otherPrograms[program].settings(room);
  const { variables = {}, args = [] } = (programs[program] as Program).settings(room, undefined);
  return args.length === 0
    ? { kind: "variables", variables }
    : { kind: "command", words: [program, ...args], variables };
}

/** Prints the line that uses the output of this same command. */
function printUsage(
  context: CliContext,
  invite: Invite,
  { for: program, model, as, shell }: Wanted & { shell: Shell },
  setup: ShellSettings,
): void {
  const where = roomArgumentOf(invite);
  const command = `${context.commandName} ${envCommand(where, { for: program, model, as, shell })}`;
  const line = setup.kind === "file" ? `${command} > ${setup.path}` : evaluations[shell](command);
  context.stderr.write(`→ ${line}\n`);
}

function envCommand(
  where: string,
  { for: program, model, as, shell }: Wanted & { shell: Shell | "json" },
): string {
  return [
    `env ${shellWord(where)}`,
    ...(program === undefined ? [] : [`--for ${program}`]),
    ...(model === undefined ? [] : [`--model ${quotes[shell === "json" ? "sh" : shell](model)}`]),
    ...(as === undefined ? [] : [`--as ${as}`]),
  ].join(" ");
}

/**
 * The only model of a room, for programs that need a name. A stand-in counts only while no other model can serve. In a room
 * without models this is `*`, with a warning, since one may join later.
 *
 * @param option - for the lines to paste: `--for claude`
 * @throws CommandError when there are several
 */
function onlyModel(
  context: CliContext,
  participants: readonly ParticipantSummary[],
  invite: Invite,
  option: string,
): string {
  const { room } = invite;
  const online = participants.filter(({ status }) => status !== "offline");
  const isReplaced = online.some(canReplaceStandIn);
  const offered = isReplaced ? online.filter(({ standIn }) => standIn !== true) : online;
  const models = [...new Set(offered.map(({ model }) => withoutLatest(model)))];
  const [model] = models;
  if (model === undefined) {
    context.stderr.write(`! Room ${room} has no model yet; the model is *, any of the room's\n`);
    return "*";
  }
  if (models.length === 1) return model;
  const where = shellWord(roomArgumentOf(invite));
  throw new CommandError(
    `Room ${room} has ${models.length} models`,
    "name one:",
    EXIT.usage,
    models
      .slice(0, 8)
      .map(
        (one) => `${context.commandName} env ${where} ${option} --model ${shellWord(safe(one))}`,
      ),
  );
}
