import type { Invite } from "@roomhub/client";
import { NAME_KEY_PREFIX } from "@roomhub/protocol";
import { Argument, type Command, Option } from "commander";
import { contextOf, type ModelChoice, modelChoices } from "../chat/model-choices.ts";
import type { CliContext } from "../context.ts";
import { CommandError, EXIT, exitCodeOfStatus, UsageError } from "../exit-code.ts";
import { addHubOptions, clientName, givenHub, type HubOptionValues } from "../options.ts";
import {
  type Program,
  type ProgramName,
  programNames,
  programs,
} from "../programs/program-table.ts";
import { assignments, commandLine, removals } from "../programs/shell-syntax.ts";
import { chooseRoom } from "../rooms/choose-room.ts";
import { hintHere } from "../rooms/hub-hint.ts";
import { type Interactivity, interactivityOf } from "../terminal/interactivity.ts";
import { safe, shellWord, writeJson } from "../terminal/text.ts";

interface LaunchOptionValues extends HubOptionValues {
  model?: string;
  as?: string;
  print?: boolean;
}

/** @param words - the command line, in which `--` ends the arguments of this command */
export function addLaunchCommand(
  program: Command,
  context: CliContext,
  words: readonly string[],
): void {
  const command = program
    .command("launch")
    .addArgument(new Argument("<program>", "what to start").choices(programNames))
    .argument("[room]", "room code, invite URL or hub URL (default: the only one there is)")
    .argument("[args...]", "after --: arguments of the program")
    .description("start a coding agent with a room's models");
  addHubOptions(command)
    .option("--model <selector>", "participant id, model name, or * for any")
    .addOption(
      new Option("--as <name>", "name the person who sends the requests").argParser(clientName),
    )
    .option("--print", "print all that it would set, and start nothing")
    .addHelpText(
      "after",
      `
The settings last as long as the program: none of your files is changed.

Example:
  $ roomhub launch claude
  $ roomhub launch codex ABC234 --model qwen3-coder
  $ roomhub launch opencode -- run "Explain this repository"`,
    )
    .action(
      async (
        name: ProgramName,
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
        const code = await launch(
          context,
          { name, room: before[0], userArgs: own, hubUrl: givenHub(command) },
          options,
        );
        if (code !== 0) context.exitNow(code);
      },
    );
}

interface Wanted {
  name: ProgramName;
  room: string | undefined;
  userArgs: readonly string[];
  /** undefined when none is named */
  hubUrl: string | undefined;
}

/** @returns the program's exit code */
async function launch(
  context: CliContext,
  { name, room, userArgs, hubUrl }: Wanted,
  options: LaunchOptionValues,
): Promise<number> {
  const program: Program = programs[name];
  const host = await context.programHost();
  const isPrinted = options.print === true || options.json === true;
  if (!isPrinted && !host.has(name)) throw notInstalled(name, program);
  const interactivity = interactivityOf(context, options);
  const invite = await chooseRoom(
    context,
    { given: room, hubUrl },
    interactivity,
    `launch ${name}`,
  );
  const model = await chooseModel(context, invite, { name, wanted: options.model }, interactivity);
  const folder = host.createFolder();
  try {
    const client = context.createClient(invite.hubUrl);
    const key = options.as === undefined ? "roomhub" : `${NAME_KEY_PREFIX}${options.as}`;
    const {
      variables = {},
      args = userArgs,
      files = {},
    } = program.settings(
      {
        baseUrl: client.baseUrl(invite.room),
        key,
        isNamed: options.as !== undefined,
        model: model.selector,
        context: model.context,
      },
      {
        folder: folder.path,
        env: context.env,
        platform: context.platform,
        userArgs,
        read: (path) => host.read(path),
      },
    );
    warn(context, program, model);
    if (options.json === true)
      writeJson(context.stdout, { command: [name, ...args], variables, files });
    else if (options.print === true) print(context, [name, ...args], variables, files);
    if (isPrinted) return EXIT.ok;
    for (const [file, text] of Object.entries(files)) folder.write(file, text);
    if (context.stderr.isTTY)
      context.stderr.write(
        `${program.title} with ${model.name} of room ${invite.room} at ${invite.hubUrl}\n`,
      );
    const env = { ...context.env };
    for (const [variable, value] of Object.entries(variables)) env[variable] = value ?? undefined;
    return await host.run(name, args, { env, folder });
  } finally {
    folder.remove();
  }
}

/** The named model, the room's only one, or the one that is picked; only one that the program can use. */
async function chooseModel(
  context: CliContext,
  { hubUrl, room }: Invite,
  { name, wanted }: { name: ProgramName; wanted: string | undefined },
  { canAsk }: Interactivity,
): Promise<Pick<ModelChoice, "selector" | "name" | "context">> {
  const client = context.createClient(hubUrl);
  const { surface } = programs[name];
  const chosen = wanted === undefined ? await pick() : await named(wanted);
  const { refusal } = await client.explainRoute(room, {
    model: chosen.selector,
    protocol: surface,
  });
  if (refusal === undefined) return chosen;
  const { message, hint, status } = refusal;
  throw new CommandError(
    safe(message),
    hintHere(context, safe(hint), hubUrl),
    exitCodeOfStatus(status),
  );

  async function named(selector: string) {
    const participants = await client.listParticipants(room);
    return { selector, name: safe(selector), context: contextOf(participants, selector) };
  }

  async function pick() {
    const choices = await modelChoices(client, room, surface);
    const [first] = choices;
    if (first === undefined) {
      throw new CommandError(
        `Room ${room} has no model that can chat`,
        `share one: ${context.commandName} join ${shellWord(`${hubUrl}/rooms/${room}`)}`,
        EXIT.notFound,
      );
    }
    if (choices.length === 1) return first;
    if (!canAsk) throw severalModels(context, { hubUrl, room }, name, choices);
    const question = `Select a model for ${programs[name].title}`;
    const labels = choices.map((value) => ({ value, label: value.name, hint: value.facts }));
    return context.prompts.pickOne(question, labels);
  }
}

function severalModels(
  context: CliContext,
  { hubUrl, room }: Invite,
  name: ProgramName,
  choices: readonly ModelChoice[],
): CommandError {
  const start = `${context.commandName} launch ${name} ${shellWord(`${hubUrl}/rooms/${room}`)}`;
  return new CommandError(
    `Room ${room} has ${choices.length} models`,
    "name one:",
    EXIT.usage,
    choices.map(
      ({ selector, facts }) => `${start} --model ${shellWord(safe(selector))}  # ${facts}`,
    ),
  );
}

function notInstalled(name: ProgramName, { title, install }: Program): CommandError {
  return new CommandError(
    `${title} is not installed: there is no program ${name}`,
    `install it: ${install}`,
  );
}

function warn(
  { stderr }: CliContext,
  { title, leastContext = 0 }: Program,
  { name, context }: Pick<ModelChoice, "name" | "context">,
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
  for (const [variable, value] of Object.entries(variables)) {
    stdout.write(`${value === null ? removals.sh(variable) : assignments.sh(variable, value)}\n`);
  }
  for (const [file, text] of Object.entries(files)) {
    stdout.write(`# ${file}:\n${text.trimEnd().replaceAll(/^/gm, "#   ")}\n`);
  }
  stdout.write(`${commandLine("sh", command)}\n`);
}
