import { Command, CommanderError, Help } from "commander";
import { withCommandName } from "./command-name.ts";
import type { CliContext } from "./context.ts";
import { checkVariables } from "./environment.ts";
import { EXIT, exitCodeOf } from "./exit-code.ts";
import { examples, readHubVariable } from "./options.ts";
import { renderError } from "./terminal/render-error.ts";
import { colorsFor } from "./terminal/text.ts";

/**
 * Runs one command line to its end.
 *
 * @param args - without the program's own name
 * @returns the exit code
 */
export async function runRoomhub(args: readonly string[], context: CliContext): Promise<number> {
  let hubUrl: string | undefined;
  const observed: CliContext = {
    ...context,
    createClient: (url) => {
      hubUrl = url;
      return context.createClient(url);
    },
  };
  const program = await createProgram(observed, commandIn(args), args);
  try {
    await program.parseAsync([...args], { from: "user" });
    return EXIT.ok;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    const { verbose = false } = program.opts<{ verbose?: boolean }>();
    const isVerbose = verbose || (context.env["ROOMHUB_DEBUG"] ?? "") !== "";
    renderError(context, error, { isVerbose, hubUrl });
    return exitCodeOf(error);
  }
}

/** Loads a command. @param words - the command line as it was given */
type LoadCommand = (
  words: readonly string[],
) => Promise<(program: Command, context: CliContext) => void>;

/**
 * The commands under the headings of the help, in its order, `|` between a name and its alias. Only the requested one is
 * loaded, since loaded code stays in a hub's memory.
 */
const commandGroups: Record<string, Record<string, LoadCommand>> = {
  Share: {
    up: async () => (await import("./commands/up.ts")).addUpCommand,
    invite: async () => (await import("./commands/invite.ts")).addInviteCommand,
    join: async () => (await import("./commands/join.ts")).addJoinCommand,
    participant: async () => (await import("./commands/participant.ts")).addParticipantCommand,
    service: async (words) => {
      const { addServiceCommand } = await import("./commands/service.ts");
      return (program, context) => addServiceCommand(program, context, words);
    },
    leave: async () => (await import("./commands/participants.ts")).addLeaveCommand,
  },
  Use: {
    launch: async (words) => {
      const { addLaunchCommand } = await import("./commands/launch.ts");
      return (program, context) => addLaunchCommand(program, context, words);
    },
    chat: async () => (await import("./commands/chat.ts")).addChatCommand,
    env: async () => (await import("./commands/env.ts")).addEnvCommand,
    models: async () => (await import("./commands/participants.ts")).addModelsCommand,
    alias: async () => (await import("./commands/alias.ts")).addAliasCommand,
    route: async () => (await import("./commands/route.ts")).addRouteCommand,
    bench: async () => (await import("./commands/bench.ts")).addBenchCommand,
  },
  Watch: {
    top: async () => (await import("./watch/top/top.ts")).addTopCommand,
    monitor: async () => (await import("./watch/monitor/monitor.ts")).addMonitorCommand,
    participants: async () => (await import("./commands/participants.ts")).addParticipantsCommand,
    events: async () => (await import("./commands/events.ts")).addEventsCommand,
    usage: async () => (await import("./watch/report/usage.ts")).addUsageCommand,
    record: async () => (await import("./watch/record/record.ts")).addRecordCommand,
    report: async () => (await import("./watch/report/report.ts")).addReportCommand,
  },
  Operate: {
    serve: async () => (await import("./commands/serve.ts")).addServeCommand,
    "room|rooms": async () => (await import("./commands/room.ts")).addRoomCommand,
    doctor: async () => (await import("./commands/doctor.ts")).addDoctorCommand,
    health: async () => (await import("./commands/health.ts")).addHealthCommand,
    hubs: async () => (await import("./commands/hubs.ts")).addHubsCommand,
    metrics: async () => (await import("./watch/metrics/metrics.ts")).addMetricsCommand,
  },
  Settings: {
    config: async () => (await import("./commands/config.ts")).addConfigCommand,
    completion: async () => {
      const { addCompletionCommand } = await import("./completion/completion-command.ts");
      return (program, context) =>
        addCompletionCommand(program, context, () => createProgram(context));
    },
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
 * @param requested - the only command to create; all of them when it is left out or unknown
 * @param words - the command line as it was given
 */
export async function createProgram(
  context: CliContext,
  requested?: string,
  words: readonly string[] = [],
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
    });
  const isChosen = (names: string) => names.split("|").includes(requested ?? "");
  const isOne = Object.values(commandGroups).flatMap(Object.keys).some(isChosen);
  for (const [heading, commands] of Object.entries(commandGroups)) {
    program.commandsGroup(`${heading}:`);
    for (const [names, load] of Object.entries(commands)) {
      if (isOne ? !isChosen(names) : words[0] === "--version") continue;
      const addCommand = await load(words);
      addCommand(program, context);
    }
  }
  // Puts `help` under the last heading.
  program.helpCommand(true);
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
  ["kick", "remove a participant: roomhub leave ABC234 ID"],
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
