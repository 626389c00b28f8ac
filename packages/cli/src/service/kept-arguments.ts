import type { Command, Option } from "commander";
import type { CliContext } from "../context.ts";
import { UsageError } from "../exit-code.ts";
import { HUB_SETTINGS, SETTING_NAMES, settingEnvName } from "../hosting/hub-settings.ts";
import { envSecret } from "../secrets.ts";

/** A command line as a service keeps it. */
export interface KeptArguments {
  /** What follows the program's name: the command, its arguments and options. None is a secret. */
  args: string[];
  /** Variables for the file that only this user can read. */
  variables: Record<string, string>;
}

/** The variable of each hub setting, by its flag: `ROOMHUB_NATS` for `--nats`. */
const settingVariables: ReadonlyMap<string, string> = new Map(
  SETTING_NAMES.map((name) => [
    HUB_SETTINGS[name].flag.split(" ", 1)[0] ?? "",
    settingEnvName(name),
  ]),
);

/** Options of `service install` and of the program, which the service does not get. */
const dropped = new Set(["--name", "--print", "--verbose", "--secrets-file"]);
const headers = new Set(["--header", "--auth-header"]);

/**
 * Takes the command line of a service apart from its secrets: values of options become variables, and the options name
 * those. What an option reads from a variable is kept too. Relative paths become absolute, since a service starts in
 * another folder.
 *
 * @param words - the command line as it was given
 * @param command - `service install join`, with its options
 * @param absolute - a path as seen from everywhere
 * @throws UsageError for a secret that has no other place, and for a variable that an option names and that is not set
 */
export async function keptArguments(
  context: CliContext,
  words: readonly string[],
  command: Command,
  absolute: (path: string) => string,
): Promise<KeptArguments> {
  const kept: KeptArguments = { args: [], variables: {} };
  const operands: string[] = [];
  for (const word of wordsByOption(words, command)) {
    if (word.kind === "text") operands.push(withoutCredentials(word.text));
    else if (!dropped.has(word.flag)) await keepOption(context, kept, word, absolute);
  }
  const { given } = context.roomKeys;
  // The words of a link are without its key; one in a file stays there.
  if (given !== undefined && !kept.args.includes("--key-file")) {
    kept.variables["ROOMHUB_KEY"] = given;
  }
  // The words "service" and "install" come first, whatever stands between them.
  return { ...kept, args: [...operands.slice(2), ...kept.args] };
}

async function keepOption(
  context: CliContext,
  { args, variables }: KeptArguments,
  { flag, value, isPath }: OptionWord,
  absolute: (path: string) => string,
): Promise<void> {
  if (value === undefined) {
    args.push(flag);
  } else if (flag === "--password") {
    variables["ROOMHUB_PASSWORD"] = value;
  } else if (flag === "--password-file" && value === "-") {
    variables["ROOMHUB_PASSWORD"] = (await context.readStdin()).split(/\r?\n/, 1)[0] ?? "";
  } else if (flag === "--key-file" && value === "-") {
    // Read before the command began.
    return;
  } else if (isPath) {
    args.push(flag, absolute(value));
  } else if (headers.has(flag)) {
    const colon = value.indexOf(":");
    const variable = freeVariable(flag, variables);
    variables[variable] = value.slice(colon + 1).trim();
    args.push(`${flag}-env`, `${value.slice(0, colon).trim()}=${variable}`);
  } else if (flag.endsWith("-env")) {
    const variable = value.slice(value.indexOf("=") + 1).trim();
    variables[variable] = envSecret(context, variable);
    args.push(flag, value);
  } else {
    const variable = hasCredentials(value) ? settingVariables.get(flag) : undefined;
    if (variable === undefined) args.push(flag, withoutCredentials(value));
    else variables[variable] = value;
  }
}

/** `--auth-header` → `SERVICE_AUTH_HEADER_1`, then `…_2`. */
function freeVariable(flag: string, variables: Readonly<Record<string, string>>): string {
  const stem = `SERVICE_${flag.slice(2).replaceAll("-", "_").toUpperCase()}_`;
  let number = 1;
  while (`${stem}${number}` in variables) number++;
  return `${stem}${number}`;
}

/** Whether a URL, or a list of URLs, contains credentials. */
function hasCredentials(text: string): boolean {
  return /(?:^|,)\s*[a-z][a-z0-9+.-]*:\/\/[^/?#,\s]*@/i.test(text);
}

function withoutCredentials(text: string): string {
  if (!hasCredentials(text)) return text;
  throw new UsageError(
    'A URL with a password in it cannot be kept for a service. Use --header-env "Authorization=VARIABLE"',
  );
}

interface OptionWord {
  kind: "option";
  /** its long form */
  flag: string;
  /** undefined for a switch */
  value: string | undefined;
  isPath: boolean;
}

/** Splits words as commander does: a required value is the rest after `=`, or the next word, whatever it looks like. */
function* wordsByOption(
  words: readonly string[],
  command: Command,
): Generator<OptionWord | { kind: "text"; text: string }> {
  const options = optionsOf(command);
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? "";
    const equals = word.startsWith("--") ? word.indexOf("=") : -1;
    const name = equals === -1 ? word : word.slice(0, equals);
    const option = options.find(({ long, short }) => name === long || name === short);
    if (word === "--") {
      for (const text of words.slice(index + 1)) yield { kind: "text", text };
      return;
    }
    if (!/^-./.test(word)) yield { kind: "text", text: word };
    else if (option === undefined)
      yield { kind: "option", flag: word, value: undefined, isPath: false };
    else {
      const isNext = option.required && equals === -1;
      const value = isNext ? words[++index] : equals === -1 ? undefined : word.slice(equals + 1);
      const isPath = /<(?:path|file)>/.test(option.flags);
      yield { kind: "option", flag: option.long ?? name, value, isPath };
    }
  }
}

/** The options of a command and of its parents. */
function optionsOf(command: Command): Option[] {
  return [...command.options, ...(command.parent === null ? [] : optionsOf(command.parent))];
}
