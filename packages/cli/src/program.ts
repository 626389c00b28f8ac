import { Command, CommanderError } from "commander";
import { withCommandName } from "./command-name.ts";
import type { CliContext } from "./context.ts";
import { checkVariables } from "./environment.ts";
import { EXIT, exitCodeOf } from "./exit-code.ts";
import { readHubVariable } from "./options.ts";
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

interface CommandModule {
  names: readonly string[];
  /** @param words - the command line as it was given */
  load: (words: readonly string[]) => Promise<(program: Command, context: CliContext) => void>;
}

/** In the order of the help. Only the requested command is loaded, since loaded code stays in a hub's memory. */
const commands: readonly CommandModule[] = [
  { names: ["up"], load: async () => (await import("./commands/up.ts")).addUpCommand },
  { names: ["serve"], load: async () => (await import("./commands/serve.ts")).addServeCommand },
  {
    names: ["room", "rooms"],
    load: async () => (await import("./commands/room.ts")).addRoomCommand,
  },
  { names: ["join"], load: async () => (await import("./commands/join.ts")).addJoinCommand },
  {
    names: ["participants", "models", "leave"],
    load: async () => (await import("./commands/participants.ts")).addParticipantCommands,
  },
  {
    names: ["participant"],
    load: async () => (await import("./commands/participant.ts")).addParticipantCommand,
  },
  { names: ["events"], load: async () => (await import("./commands/events.ts")).addEventsCommand },
  { names: ["usage"], load: async () => (await import("./commands/usage.ts")).addUsageCommand },
  {
    names: ["monitor"],
    load: async () => (await import("./commands/monitor.ts")).addMonitorCommand,
  },
  { names: ["top"], load: async () => (await import("./commands/top.ts")).addTopCommand },
  { names: ["record"], load: async () => (await import("./commands/record.ts")).addRecordCommand },
  { names: ["report"], load: async () => (await import("./commands/report.ts")).addReportCommand },
  {
    names: ["metrics"],
    load: async () => (await import("./commands/metrics.ts")).addMetricsCommand,
  },
  { names: ["chat"], load: async () => (await import("./commands/chat.ts")).addChatCommand },
  { names: ["health"], load: async () => (await import("./commands/health.ts")).addHealthCommand },
  { names: ["hubs"], load: async () => (await import("./commands/hubs.ts")).addHubsCommand },
  { names: ["alias"], load: async () => (await import("./commands/alias.ts")).addAliasCommand },
  { names: ["route"], load: async () => (await import("./commands/route.ts")).addRouteCommand },
  { names: ["env"], load: async () => (await import("./commands/env.ts")).addEnvCommand },
  { names: ["doctor"], load: async () => (await import("./commands/doctor.ts")).addDoctorCommand },
  { names: ["config"], load: async () => (await import("./commands/config.ts")).addConfigCommand },
  {
    names: ["service"],
    load: async (words) => {
      const { addServiceCommand } = await import("./commands/service.ts");
      return (program, context) => addServiceCommand(program, context, words);
    },
  },
  {
    names: ["completion"],
    load: async () => {
      const { addCompletionCommand } = await import("./completion/completion-command.ts");
      return (program, context) =>
        addCompletionCommand(program, context, () => createProgram(context));
    },
  },
];

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
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.stdout.write(withCommandName(context, text)),
      writeErr: (text) => context.stderr.write(withCommandName(context, text)),
      getOutHelpWidth: () => context.stdout.columns ?? 80,
      getErrHelpWidth: () => context.stderr.columns ?? 80,
      outputError: (text, write) => write(formatUsageError(context, text, requested, program)),
    })
    .addHelpText("after", "\nExample:\n  $ roomhub up --lan\n\nTo get started: roomhub up")
    .hook("preAction", async (_program, command) => {
      const { secretsFile } = program.opts<{ secretsFile?: string }>();
      if (secretsFile !== undefined) await context.addVariablesFrom(secretsFile);
      checkVariables(context.env, namedVariables(command.opts()));
      readHubVariable(command, context.env);
    });
  const chosen = commands.filter(({ names }) => names.includes(requested ?? ""));
  const needed = words[0] === "--version" ? [] : chosen.length === 0 ? commands : chosen;
  for (const { load } of needed) {
    const addCommand = await load(words);
    addCommand(program, context);
  }
  showUsageAfterErrors(program, "");
  return program;
}

/** Prints commander's suggestions as hints, and adds hints that commander does not have. */
function formatUsageError(
  context: CliContext,
  text: string,
  requested: string | undefined,
  program: Command,
): string {
  const colors = colorsFor(context, context.stderr);
  const [message = "", ...lines] = text.trimEnd().split("\n");
  const hints = lines.map((line) => line.replace(/^\(Did you mean (.*)\)$/, "→ did you mean $1"));
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
