import { Command, CommanderError } from "commander";
import { withCommandName } from "./command-name.ts";
import type { CliContext } from "./context.ts";
import { rejectUnknownVariables } from "./environment.ts";
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
  const noting: CliContext = {
    ...context,
    createClient: (url) => {
      hubUrl = url;
      return context.createClient(url);
    },
  };
  const program = await createProgram(noting, commandIn(args));
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
  load: () => Promise<(program: Command, context: CliContext) => void>;
}

/** In the order of the help. Only the one that is asked for is loaded: a hub keeps what it has loaded as long as it runs. */
const commands: readonly CommandModule[] = [
  { names: ["up"], load: async () => (await import("./commands/up.ts")).addUpCommand },
  { names: ["serve"], load: async () => (await import("./commands/serve.ts")).addServeCommand },
  { names: ["room"], load: async () => (await import("./commands/room.ts")).addRoomCommand },
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
  { names: ["chat"], load: async () => (await import("./commands/chat.ts")).addChatCommand },
  { names: ["health"], load: async () => (await import("./commands/health.ts")).addHealthCommand },
  { names: ["route"], load: async () => (await import("./commands/route.ts")).addRouteCommand },
  { names: ["env"], load: async () => (await import("./commands/env.ts")).addEnvCommand },
  { names: ["doctor"], load: async () => (await import("./commands/doctor.ts")).addDoctorCommand },
  { names: ["config"], load: async () => (await import("./commands/config.ts")).addConfigCommand },
];

/** The command that a line begins with; undefined where help is asked for before it. */
function commandIn(args: readonly string[]): string | undefined {
  const first = args.find((arg) => !arg.startsWith("-") || arg === "-h" || arg === "--help");
  return first?.startsWith("-") === true ? undefined : first;
}

/**
 * The command line as a tree. Nothing is read or started before an action runs.
 *
 * @param wanted - the one command to make; all of them when it is left out, or is none
 */
export async function createProgram(context: CliContext, wanted?: string): Promise<Command> {
  const program = new Command("roomhub")
    .description(
      "Share language models in rooms: one OpenAI-compatible base URL, many participants.",
    )
    .version(context.version)
    .option("--verbose", "show the stack trace of an error")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.stdout.write(withCommandName(context, text)),
      writeErr: (text) => context.stderr.write(withCommandName(context, text)),
      getOutHelpWidth: () => context.stdout.columns ?? 80,
      getErrHelpWidth: () => context.stderr.columns ?? 80,
      outputError: (text, write) => write(formatUsageError(context, text, wanted, program)),
    })
    .addHelpText("after", "\nExample:\n  $ roomhub up --lan\n\nTry first: roomhub up")
    .hook("preAction", (_program, command) => {
      rejectUnknownVariables(context.env, namedVariables(command.opts()));
      readHubVariable(command, context.env);
    });
  const chosen = commands.find(({ names }) => names.includes(wanted ?? ""));
  for (const { load } of chosen === undefined ? commands : [chosen]) {
    const addCommand = await load();
    addCommand(program, context);
  }
  showUsageAfterErrors(program, "");
  return program;
}

/** commander puts what was probably meant in brackets, and says nothing of where a room's code is to be had. */
function formatUsageError(
  context: CliContext,
  text: string,
  wanted: string | undefined,
  program: Command,
): string {
  const colors = colorsFor(context, context.stderr);
  const [message = "", ...lines] = text.trimEnd().split("\n");
  const hints = lines.map((line) => line.replace(/^\(Did you mean (.*)\)$/, "→ did you mean $1"));
  if (message.startsWith("error: missing required argument 'room'")) {
    hints.push("→ roomhub room list shows the rooms and their codes");
  }
  if (message.startsWith("error: too many arguments for 'chat'")) {
    hints.push('→ quote the question, with the room before it: roomhub chat ABC234 "Why?"');
  }
  const command = program.commands.find((one) => one.name() === wanted);
  if (message.startsWith("error: unknown option '--room'") && takesRoom(command)) {
    hints.push(`→ the room needs no option: roomhub ${wanted} ABC234`);
  }
  return [colors.red(message), ...hints, ""].join("\n");
}

function takesRoom(command: Command | undefined): boolean {
  return ["room", "target"].includes(command?.registeredArguments[0]?.name() ?? "");
}

/** A mistake is answered with the usage of the command it was made in, in one line. */
function showUsageAfterErrors(command: Command, parent: string): void {
  const path = `${parent}${command.name()}`;
  command.showHelpAfterError(`Usage: ${path} ${command.usage()}  (${path} --help tells more)`);
  for (const child of command.commands) showUsageAfterErrors(child, `${path} `);
}

/** The variables that `--password-env`, `--token-env` and `--header-env Name=VARIABLE` name: those are the user's own. */
function namedVariables(options: Record<string, unknown>): string[] {
  return Object.entries(options)
    .filter(([option]) => option.endsWith("Env"))
    .flatMap(([, given]) => given as string | string[])
    .map((text) => text.slice(text.indexOf("=") + 1).trim());
}
