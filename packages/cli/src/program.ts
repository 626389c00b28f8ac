import { type Command, CommanderError } from "commander";
import { addCommands, described, namesIn, withCommandName } from "./command-list.ts";
import type { CliContext, OutsideContext } from "./context.ts";
import { checkVariables } from "./environment.ts";
import { EXIT, exitCodeOf } from "./exit-code.ts";
import { readHubVariable, RoomhubCommand } from "./options.ts";
import { renderError } from "./terminal/render-error.ts";
import { Pins } from "./tls/pins.ts";
import { RoomKeys } from "./rooms/room-keys.ts";
import { interactivityOf } from "./terminal/interactivity.ts";
import { colorsFor } from "./terminal/text.ts";

/**
 * Runs one command line to its end.
 *
 * @param given - without the program's own name
 * @returns the exit code
 */
export async function runRoomhub(
  given: readonly string[],
  outside: OutsideContext,
): Promise<number> {
  let hubUrl: string | undefined;
  const pins = new Pins(outside);
  const context = { ...outside, pins, fetch: pins.fetch };
  const roomKeys = new RoomKeys(context);
  const args = roomKeys.takeFromLinks(given);
  const observed: CliContext = {
    ...context,
    roomKeys,
    fetch: roomKeys.fetch,
    createClient: (url) => {
      hubUrl = url;
      const client = context.createClient(url, roomKeys.fetch);
      roomKeys.addHub(client.hubUrl);
      return client;
    },
    createParticipant: async (options) =>
      context.createParticipant({
        ...options,
        hubUrl: await pins.withPin(options.hubUrl),
        pin: () => pins.now(options.hubUrl),
      }),
  };
  const program = await createProgram(observed, commandIn(args), args);
  try {
    pins.takeFrom([...given, context.env["ROOMHUB_URL"] ?? ""]);
    await program.parseAsync([...args], { from: "user" });
    return EXIT.ok;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    const { verbose = false } = program.opts<{ verbose?: boolean }>();
    const isVerbose = verbose || (context.env["ROOMHUB_DEBUG"] ?? "") !== "";
    renderError(observed, error, { isVerbose, hubUrl });
    return exitCodeOf(error);
  }
}

/** Loads what adds a command to the program. */
type LoadCommand = () => Promise<
  (program: RoomhubCommand, context: CliContext, words: readonly string[]) => void
>;

/** By name. Only the requested one is loaded, since loaded code stays in a hub's memory. */
const loaders: Readonly<Record<string, LoadCommand>> = {
  up: async () => (await import("./commands/up.ts")).addUpCommand,
  invite: async () => (await import("./commands/invite.ts")).addInviteCommand,
  join: async () => (await import("./commands/join.ts")).addJoinCommand,
  participant: async () => (await import("./commands/participant.ts")).addParticipantCommand,
  service: async () => (await import("./commands/service.ts")).addServiceCommand,
  leave: async () => (await import("./commands/participants.ts")).addLeaveCommand,
  launch: async () => (await import("./commands/launch.ts")).addLaunchCommand,
  chat: async () => (await import("./commands/chat.ts")).addChatCommand,
  batch: async () => (await import("./batch/batch.ts")).addBatchCommand,
  env: async () => (await import("./commands/env.ts")).addEnvCommand,
  open: async () => (await import("./commands/open.ts")).addOpenCommand,
  models: async () => (await import("./commands/participants.ts")).addModelsCommand,
  alias: async () => (await import("./commands/alias.ts")).addAliasCommand,
  route: async () => (await import("./commands/route.ts")).addRouteCommand,
  bench: async () => (await import("./commands/bench.ts")).addBenchCommand,
  top: async () => (await import("./watch/top/top.ts")).addTopCommand,
  monitor: async () => (await import("./watch/monitor/monitor.ts")).addMonitorCommand,
  participants: async () => (await import("./commands/participants.ts")).addParticipantsCommand,
  events: async () => (await import("./commands/events.ts")).addEventsCommand,
  usage: async () => (await import("./watch/report/usage.ts")).addUsageCommand,
  record: async () => (await import("./watch/record/record.ts")).addRecordCommand,
  report: async () => (await import("./watch/report/report.ts")).addReportCommand,
  serve: async () => (await import("./commands/serve.ts")).addServeCommand,
  key: async () => (await import("./commands/rooms/key.ts")).addKeyCommand,
  room: async () => (await import("./commands/rooms/room.ts")).addRoomCommand,
  doctor: async () => {
    const { addDoctorCommand } = await import("./commands/doctor.ts");
    return (program, context) => addDoctorCommand(program, context);
  },
  health: async () => (await import("./commands/health.ts")).addHealthCommand,
  pins: async () => (await import("./commands/pins.ts")).addPinsCommand,
  hubs: async () => (await import("./commands/hubs.ts")).addHubsCommand,
  metrics: async () => (await import("./watch/metrics/metrics.ts")).addMetricsCommand,
  config: async () => (await import("./commands/config.ts")).addConfigCommand,
  completion: async () => {
    const { addCompletionCommand } = await import("./completion/completion-command.ts");
    return (program, context) =>
      addCompletionCommand(program, context, () => createProgram(context));
  },
};

/** The command named on the command line; undefined when `--help` comes before it. */
function commandIn(args: readonly string[]): string | undefined {
  const first = args.find((arg) => !arg.startsWith("-") || arg === "-h" || arg === "--help");
  return first?.startsWith("-") === true ? undefined : first;
}

/**
 * Creates the command line. Nothing is read or started before an action runs.
 *
 * @param requested - the only command to create; all of them when it is unknown
 * @param words - the command line as it was given; without a command in it, none is loaded: they are only listed
 */
export async function createProgram(
  context: CliContext,
  requested?: string,
  words?: readonly string[],
): Promise<Command> {
  const program = described(new RoomhubCommand(), context.version)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.stdout.write(withCommandName(context, text)),
      writeErr: (text) => context.stderr.write(withCommandName(context, text)),
      getOutHelpWidth: () => context.stdout.columns ?? 80,
      getErrHelpWidth: () => context.stderr.columns ?? 80,
      outputError: (text, write) => write(formatUsageError(context, text, requested, program)),
    })
    .hook("preAction", async (_program, command) => {
      const { secretsFile } = program.opts<{ secretsFile?: string }>();
      if (secretsFile !== undefined) await context.addVariablesFrom(secretsFile);
      checkVariables(context.env, namedVariables(command.opts()));
      readHubVariable(command, context.env);
      const { keyFile, ...options } = command.opts<{ keyFile?: string }>();
      await context.roomKeys.prepare(keyFile, interactivityOf(context, options).canAsk);
    });
  const isListing = words !== undefined && requested === undefined;
  const add = async (usage: string) => {
    const [name = ""] = namesIn(usage);
    (await loaders[name]?.())?.(program, context, words ?? []);
  };
  await addCommands(program, requested, isListing ? undefined : add);
  showUsageAfterErrors(program, "");
  return program;
}

/** What other programs call it, such as Ollama, Docker and systemctl. */
const hintsForOthersWords = new Map([
  ["list", "rooms: roomhub room list; models of a room: roomhub models ABC234"],
  ["ls", "rooms: roomhub room list; models of a room: roomhub models ABC234"],
  ["ps", "participants and running requests: roomhub top"],
  ["status", "the hub: roomhub health; a room: roomhub top; what is wrong: roomhub doctor"],
  ["share", "share models of this machine: roomhub join; host a room with them: roomhub up --lan"],
  ["start", "host a room: roomhub up; a hub alone: roomhub serve"],
  ["run", "talk to a model: roomhub chat"],
  ["kick", "remove a participant: roomhub room kick ABC234 ID"],
]);

/** Prints commander's suggestions as hints, and adds hints that commander does not have. */
function formatUsageError(
  context: CliContext,
  text: string,
  requested: string | undefined,
  program: Command,
): string {
  const colors = colorsFor(context, context.stderr);
  const [message = "", ...lines] = text.trimEnd().split("\n");
  const hint = hintsForOthersWords.get(/unknown command '([^']*)'/.exec(message)?.[1] ?? "");
  const hints =
    hint === undefined
      ? lines.map((line) => line.replace(/^\(Did you mean (.*)\)$/, "→ did you mean $1"))
      : [`→ ${hint}`];
  if (message.startsWith("error: missing required argument 'room'")) {
    hints.push("→ list rooms and their codes: roomhub room list");
  }
  if (message.startsWith("error: too many arguments for 'chat'")) {
    hints.push('→ quote the prompt, after the room: roomhub chat ABC234 "Why?"');
  }
  const command = program.commands.find((one) => one.name() === requested);
  if (message.startsWith("error: unknown option '--room'") && takesRoom(command)) {
    hints.push(`→ pass the room as an argument: roomhub ${requested} ABC234`);
  }
  return [colors.red(message), ...hints, ""].join("\n");
}

function takesRoom(command: Command | undefined): boolean {
  return ["room", "target"].includes(command?.registeredArguments[0]?.name() ?? "");
}

/** Adds the command's usage, in one line, to its usage errors. */
function showUsageAfterErrors(command: Command, parent: string): void {
  const path = `${parent}${command.name()}`;
  command.showHelpAfterError(`Usage: ${path} ${command.usage()}  (more: ${path} --help)`);
  for (const child of command.commands) showUsageAfterErrors(child, `${path} `);
}

/** The user's own variables, as named by `--password-env`, `--token-env` and `--header-env Name=VARIABLE`. */
function namedVariables(options: Record<string, unknown>): string[] {
  return Object.entries(options)
    .filter(([option]) => option.endsWith("Env"))
    .flatMap(([, given]) => given as string | string[])
    .map((text) => text.slice(text.indexOf("=") + 1).trim());
}
