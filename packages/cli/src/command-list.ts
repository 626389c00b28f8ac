import { Command, Help } from "commander";
import { commandNameOf } from "./command-name.ts";

/** The commands under the headings of the help, in its order, as it lists them: `|` between a name and its alias. */
const commandGroups: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Share: {
    up: "start a hub with a room, and share this machine's model in it",
    "invite [room]": "print lines and a QR code that bring others into a room",
    "join [room]": "share models of this machine in a room until stopped",
    participant: "add or remove an endpoint that the hub calls directly",
    service: "keep serve or join running in the background, also after a restart",
    "leave <room> <id>": "remove a participant from a room",
  },
  Use: {
    "launch <program> [room] [args...]": "start a coding agent with a room's models",
    "chat [room] [prompt]": "talk to a model of a room, or send one prompt",
    "batch <file>": "send a file of requests to a room, behind all others, and write the results",
    "env [room]": "print the variables that point OpenAI and Anthropic clients at a room",
    "open [room]": "give this machine's OpenAI clients a base URL for a room",
    "models <room>": "list the models that requests can name",
    "alias <room> [names...]": "list the names that stand for models of a room, add or remove one",
    "route [room] [model]": "explain where a request would go, without sending one",
    "bench [room]": "measure each participant of a room, and what its model can do",
  },
  Watch: {
    "top [room]": "watch a room: participants, running requests, figures, log",
    "monitor [room]": "serve a page that watches a room, and open it in the browser",
    "participants <room>": "list a room's participants and whether they are reachable",
    "events [room]": "stream events, one line each; --json prints NDJSON",
    "usage <room>": "count requests and tokens per person, participant and model from now on",
    "record <room>": "keep the events of a room in a file, one JSON object per line",
    "report <file...>": "sum up recordings: requests, errors, speed, usage",
  },
  Operate: {
    serve: "run a hub until stopped",
    "key|keys": "create, list, rotate and revoke the keys of a closed room",
    "room|rooms": "create, list, show, change and delete rooms, import them into a cluster",
    "doctor [target]": "check each step between here and a model, and suggest fixes",
    "health [target]": "check hub health",
    "pins|pin": "list the keys of hubs that invites pinned, and forget one",
    hubs: "list the hubs of a cluster",
    "metrics [room]":
      "serve Prometheus metrics of a room, or of the whole hub; or send them over OTLP",
  },
  Settings: {
    config: "show the settings of serve and up, and where each value comes from",
    "completion <shell>": "print a script that completes commands and options",
  },
};

/** How the help and its errors name this program. */
interface Named {
  commandName: string;
}

const names = Object.values(commandGroups).flatMap(Object.keys).flatMap(namesIn);
const calls = new RegExp(`(?<!npx )\\broomhub (?=\\[|--|(?:${names.join("|")}|help)\\b)`, "g");

/**
 * Texts of hubs, the SDK and the help contain commands of an installed `roomhub`; in a checkout they get the prefix that
 * makes them run there.
 */
export function withCommandName({ commandName }: Named, text: string): string {
  return text.replaceAll(calls, `${commandName} `);
}

/** The end of a command's help. @param lines - of a shell */
export function examples(...lines: string[]): string {
  return `\nExample:\n${lines.map((line) => `  $ ${line}`).join("\n")}`;
}

/** Gives the program its options and help. */
export function described<Program extends Command>(program: Program, version: string): Program {
  return program
    .name("roomhub")
    .description(
      "Share language models in rooms: one OpenAI-compatible base URL, many participants.",
    )
    .version(version)
    .option("--verbose", "show stack traces of errors")
    .option("--secrets-file <path>", "set variables from a file that only you can read")
    .configureHelp({
      subcommandTerm: (command) => new Help().subcommandTerm(command).replace(" [options]", ""),
    })
    .addHelpText("after", `${examples("roomhub up --lan")}\n\nTo get started: roomhub up`);
}

/**
 * Adds commands under their headings.
 *
 * @param requested - the only command to add; all of them when it is unknown
 * @param add - adds the one with this usage; by default it is only listed
 */
export async function addCommands(
  program: Command,
  requested: string | undefined,
  add: (usage: string) => unknown = (usage) => addListed(program, usage),
): Promise<void> {
  const isOne = requested !== undefined && names.includes(requested);
  for (const [heading, commands] of Object.entries(commandGroups)) {
    program.commandsGroup(`${heading}:`);
    for (const [usage, description] of Object.entries(commands)) {
      if (isOne && !namesIn(usage).includes(requested)) continue;
      await add(usage);
      program.commands.at(-1)?.description(description);
    }
  }
  // Puts `help` under the last heading.
  program.helpCommand(true);
}

function addListed(program: Command, usage: string): void {
  const [name = "", ...aliases] = namesIn(usage);
  const parameters = usage.split(" ").slice(1);
  program.command([name, ...parameters].join(" ")).aliases(aliases);
}

/** `key` and its alias `keys` in `key|keys`. */
export function namesIn(usage: string): string[] {
  return usage.replace(/ .*/, "").split("|");
}

/** Prints what `roomhub --help` does, and loads no command for it. */
export async function printHelp(
  stdout: Pick<NodeJS.WriteStream, "columns"> & { write(text: string): unknown },
): Promise<void> {
  const named = { commandName: await commandNameOf(import.meta.url) };
  const program = described(new Command(), "").configureOutput({
    writeOut: (text) => stdout.write(withCommandName(named, text)),
    // A pipe has no columns, and a pseudo-terminal without a size has 0.
    getOutHelpWidth: () => stdout.columns || 80,
  });
  await addCommands(program, undefined);
  program.outputHelp();
}
