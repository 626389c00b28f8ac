import { Command, CommanderError, Help } from "commander";
import { withCommandName } from "./command-name.ts";
import type { CliContext, OutsideContext } from "./context.ts";
import { checkVariables } from "./environment.ts";
import { EXIT, exitCodeOf } from "./exit-code.ts";
import { examples, readHubVariable } from "./options.ts";
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
      context.createParticipant({ ...options, hubUrl: await pins.withPin(options.hubUrl) }),
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

/** Loads a command. @param words - the command line as it was given */
type LoadCommand = (
  words: readonly string[],
) => Promise<(program: Command, context: CliContext) => void>;

/**
 * The commands under the headings of the help, in its order, as it lists them: `|` between a name and its alias. Only the
 * requested one is loaded, since loaded code stays in a hub's memory.
 */
const commandGroups: Record<string, Record<string, [description: string, LoadCommand]>> = {
  Share: {
    up: [
      "start a hub with a room, and share this machine's model in it",
      async () => (await import("./commands/up.ts")).addUpCommand,
    ],
    "invite [room]": [
      "print lines and a QR code that bring others into a room",
      async () => (await import("./commands/invite.ts")).addInviteCommand,
    ],
    "join [room]": [
      "share models of this machine in a room until stopped",
      async () => (await import("./commands/join.ts")).addJoinCommand,
    ],
    participant: [
      "add or remove an endpoint that the hub calls directly",
      async () => (await import("./commands/participant.ts")).addParticipantCommand,
    ],
    service: [
      "keep serve or join running in the background, also after a restart",
      async (words) => {
        const { addServiceCommand } = await import("./commands/service.ts");
        return (program, context) => addServiceCommand(program, context, words);
      },
    ],
    "leave <room> <id>": [
      "remove a participant from a room",
      async () => (await import("./commands/participants.ts")).addLeaveCommand,
    ],
  },
  Use: {
    "launch <program> [room] [args...]": [
      "start a coding agent with a room's models",
      async (words) => {
        const { addLaunchCommand } = await import("./commands/launch.ts");
        return (program, context) => addLaunchCommand(program, context, words);
      },
    ],
    "chat [room] [prompt]": [
      "talk to a model of a room, or send one prompt",
      async () => (await import("./commands/chat.ts")).addChatCommand,
    ],
    "batch <file>": [
      "send a file of requests to a room, behind all others, and write the results",
      async () => (await import("./batch/batch.ts")).addBatchCommand,
    ],
    "env [room]": [
      "print the variables that point OpenAI and Anthropic clients at a room",
      async () => (await import("./commands/env.ts")).addEnvCommand,
    ],
    "open [room]": [
      "give this machine's OpenAI clients a base URL for a room",
      async () => (await import("./commands/open.ts")).addOpenCommand,
    ],
    "models <room>": [
      "list the models that requests can name",
      async () => (await import("./commands/participants.ts")).addModelsCommand,
    ],
    "alias <room> [names...]": [
      "list the names that stand for models of a room, add or remove one",
      async () => (await import("./commands/alias.ts")).addAliasCommand,
    ],
    "route [room] [model]": [
      "explain where a request would go, without sending one",
      async () => (await import("./commands/route.ts")).addRouteCommand,
    ],
    "bench [room]": [
      "measure each participant of a room, and what its model can do",
      async () => (await import("./commands/bench.ts")).addBenchCommand,
    ],
  },
  Watch: {
    "top [room]": [
      "watch a room: participants, running requests, figures, log",
      async () => (await import("./watch/top/top.ts")).addTopCommand,
    ],
    "monitor [room]": [
      "serve a page that watches a room, and open it in the browser",
      async () => (await import("./watch/monitor/monitor.ts")).addMonitorCommand,
    ],
    "participants <room>": [
      "list a room's participants and whether they are reachable",
      async () => (await import("./commands/participants.ts")).addParticipantsCommand,
    ],
    "events [room]": [
      "stream events, one line each; --json prints NDJSON",
      async () => (await import("./commands/events.ts")).addEventsCommand,
    ],
    "usage <room>": [
      "count requests and tokens per person, participant and model from now on",
      async () => (await import("./watch/report/usage.ts")).addUsageCommand,
    ],
    "record <room>": [
      "keep the events of a room in a file, one JSON object per line",
      async () => (await import("./watch/record/record.ts")).addRecordCommand,
    ],
    "report <file...>": [
      "sum up recordings: requests, errors, speed, usage",
      async () => (await import("./watch/report/report.ts")).addReportCommand,
    ],
  },
  Operate: {
    serve: [
      "run a hub until stopped",
      async () => (await import("./commands/serve.ts")).addServeCommand,
    ],
    "key|keys": [
      "create, list, rotate and revoke the keys of a closed room",
      async () => (await import("./commands/rooms/key.ts")).addKeyCommand,
    ],
    "room|rooms": [
      "create, list, show, change and delete rooms, import them into a cluster",
      async () => (await import("./commands/rooms/room.ts")).addRoomCommand,
    ],
    "doctor [target]": [
      "check each step between here and a model, and suggest fixes",
      async () => (await import("./commands/doctor.ts")).addDoctorCommand,
    ],
    "health [target]": [
      "check hub health",
      async () => (await import("./commands/health.ts")).addHealthCommand,
    ],
    "pins|pin": [
      "list the keys of hubs that invites pinned, and forget one",
      async () => (await import("./commands/pins.ts")).addPinsCommand,
    ],
    hubs: [
      "list the hubs of a cluster",
      async () => (await import("./commands/hubs.ts")).addHubsCommand,
    ],
    "metrics [room]": [
      "serve Prometheus metrics of a room, or of the whole hub; or send them over OTLP",
      async () => (await import("./watch/metrics/metrics.ts")).addMetricsCommand,
    ],
  },
  Settings: {
    config: [
      "show the settings of serve and up, and where each value comes from",
      async () => (await import("./commands/config.ts")).addConfigCommand,
    ],
    "completion <shell>": [
      "print a script that completes commands and options",
      async () => {
        const { addCompletionCommand } = await import("./completion/completion-command.ts");
        return (program, context) =>
          addCompletionCommand(program, context, () => createProgram(context));
      },
    ],
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
  const program = new Command("roomhub")
    .description(
      "Share language models in rooms: one OpenAI-compatible base URL, many participants.",
    )
    .version(context.version)
    .option("--verbose", "show stack traces of errors")
    .option("--secrets-file <path>", "set variables from a file that only you can read")
    .configureHelp({
      subcommandTerm: (command) => new Help().subcommandTerm(command).replace(" [options]", ""),
    })
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.stdout.write(withCommandName(context, text)),
      writeErr: (text) => context.stderr.write(withCommandName(context, text)),
      getOutHelpWidth: () => context.stdout.columns ?? 80,
      getErrHelpWidth: () => context.stderr.columns ?? 80,
      outputError: (text, write) => write(formatUsageError(context, text, requested, program)),
    })
    .addHelpText("after", `${examples("roomhub up --lan")}\n\nTo get started: roomhub up`)
    .hook("preAction", async (_program, command) => {
      const { secretsFile } = program.opts<{ secretsFile?: string }>();
      if (secretsFile !== undefined) await context.addVariablesFrom(secretsFile);
      checkVariables(context.env, namedVariables(command.opts()));
      readHubVariable(command, context.env);
      const { keyFile, ...options } = command.opts<{ keyFile?: string }>();
      await context.roomKeys.prepare(keyFile, interactivityOf(context, options).canAsk);
    });
  const isChosen = (usage: string) =>
    usage
      .split(" ", 1)[0]
      ?.split("|")
      .includes(requested ?? "");
  const isOne = Object.values(commandGroups).flatMap(Object.keys).some(isChosen);
  const isListing = words !== undefined && requested === undefined;
  for (const [heading, commands] of Object.entries(commandGroups)) {
    program.commandsGroup(`${heading}:`);
    for (const [usage, [description, load]] of Object.entries(commands)) {
      if (isOne && !isChosen(usage)) continue;
      if (isListing) addListed(program, usage);
      else (await load(words ?? []))(program, context);
      program.commands.at(-1)?.description(description);
    }
  }
  // Puts `help` under the last heading.
  program.helpCommand(true);
  showUsageAfterErrors(program, "");
  return program;
}

function addListed(program: Command, usage: string): void {
  const [names = "", ...parameters] = usage.split(" ");
  const [name = "", ...aliases] = names.split("|");
  program.command([name, ...parameters].join(" ")).aliases(aliases);
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
