import { type Argument, type Command, Help, type Option } from "commander";

/** What can stand where a value is expected. */
export type CompletedValue =
  | { kind: "none" }
  | { kind: "choices"; words: readonly string[] }
  | { kind: "file" }
  | { kind: "unknown" };

interface CompletedOption {
  /** The long form first: `--yes`, `-y`. */
  flags: readonly string[];
  description: string;
  /** `none` for a switch. */
  value: CompletedValue;
}

/** A command, and what can follow it on the command line. */
export interface CompletedCommand {
  /** The words that lead to it, joined by spaces; empty for the program itself. */
  path: string;
  /** other words for the last one of the path */
  aliases: readonly string[];
  children: readonly { name: string; description: string }[];
  options: readonly CompletedOption[];
  /** Of its arguments; `none` for a command without any. */
  operand: CompletedValue;
}

const fileNames = /^(?:path|file|files|recording|recordings|folder)$/;

/**
 * The table that the help of commands is printed from, as the completions of all shells need it: hidden commands and
 * options are in neither, rare options are here too.
 *
 * @returns parents before their children
 */
export function completionTable(
  program: Command,
  parents: readonly string[] = [],
): CompletedCommand[] {
  const help = new Help();
  const children = help.visibleCommands(program);
  return [
    {
      path: parents.join(" "),
      aliases: program.aliases(),
      children: children.map((child) => ({
        name: child.name(),
        description: help.subcommandDescription(child),
      })),
      options: help.visibleOptions(program).map(completedOption),
      operand: operandOf(program.registeredArguments),
    },
    // The implied `help` is in the list of commands, and is not one of them.
    ...children
      .filter((child) => program.commands.includes(child))
      .flatMap((child) => completionTable(child, [...parents, child.name()])),
  ];
}

function completedOption(option: Option): CompletedOption {
  const { long, short, description, argChoices, flags } = option;
  const placeholder = /[<[]([^>\]]*)/.exec(flags)?.[1];
  return {
    flags: [long, short].filter((flag) => flag !== undefined),
    description,
    value: placeholder === undefined ? { kind: "none" } : valueOf(placeholder, argChoices),
  };
}

/** The value of the first argument that has choices or is a file, since the scripts do not count arguments. */
function operandOf(args: readonly Argument[]): CompletedValue {
  const values = args.map((argument) => valueOf(argument.name(), argument.argChoices));
  return values.find(({ kind }) => kind !== "unknown") ?? values[0] ?? { kind: "none" };
}

function valueOf(placeholder: string, choices: readonly string[] | undefined): CompletedValue {
  if (choices !== undefined) return { kind: "choices", words: choices };
  return { kind: fileNames.test(placeholder.replace("...", "")) ? "file" : "unknown" };
}

/** `PATH/FLAG` of every option whose value is of one of these kinds: what the scripts match the previous word against. */
export function flagsWithValue(
  table: readonly CompletedCommand[],
  ...kinds: CompletedValue["kind"][]
): string[] {
  return table.flatMap(({ path, options }) =>
    options
      .filter(({ value }) => kinds.includes(value.kind))
      .flatMap(({ flags }) => flags.map((flag) => `${path}/${flag}`)),
  );
}

/** `PATH/NAME` of every command that is not the program, and its path. */
export function stepsOf(table: readonly CompletedCommand[]): { step: string; path: string }[] {
  return table
    .filter(({ path }) => path !== "")
    .flatMap(({ path, aliases }) => {
      const end = path.lastIndexOf(" ");
      const parent = path.slice(0, Math.max(end, 0));
      const names = [path.slice(end + 1), ...aliases];
      return names.map((name) => ({ step: `${parent}/${name}`, path }));
    });
}

/** Choices of options, by `PATH/FLAG`. */
export function choicesOf(
  table: readonly CompletedCommand[],
): { flags: string[]; words: readonly string[] }[] {
  return table.flatMap(({ path, options }) =>
    options.flatMap(({ flags, value }) =>
      value.kind === "choices"
        ? [{ flags: flags.map((flag) => `${path}/${flag}`), words: value.words }]
        : [],
    ),
  );
}

/** The words a command's name or argument can be. */
export function wordsOf({ children, operand }: CompletedCommand): string[] {
  return [
    ...children.map(({ name }) => name),
    ...(operand.kind === "choices" ? operand.words : []),
  ];
}
