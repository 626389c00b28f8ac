import { type Command, Option } from "commander";
import type { CliContext } from "./context.ts";
import { readable, UsageError } from "./exit-code.ts";
import { collect } from "./options.ts";

/** Sources of a password. A flag is visible to everyone who can run `ps`, so there are two better ones. */
export interface PasswordOptionValues {
  password?: string;
  passwordEnv?: string;
  passwordFile?: string;
}

/** Headers for a model server that stay on this machine. */
export interface HeaderOptionValues {
  header?: string[];
  headerEnv?: string[];
}

/** Headers for a model server that are sent to the hub, which uses them when it calls the endpoint directly. */
export interface AuthHeaderOptionValues {
  authHeader?: string[];
  authHeaderEnv?: string[];
}

export function addPasswordOptions(command: Command): void {
  command
    .option(
      "--password-env <variable>",
      "join password, from a variable; it restricts sharing, not use",
    )
    .option("--password-file <path>", "join password, from a file's first line (- for stdin)")
    .addOption(
      new Option("--password <password>", "join password (visible in `ps`)").conflicts([
        "passwordEnv",
        "passwordFile",
      ]),
    );
}

export function addHeaderOptions(command: Command): void {
  addHeaderPair(command, "header", "stays on this machine");
}

export function addAuthHeaderOptions(command: Command): void {
  addHeaderPair(command, "auth-header", "sent to the hub");
}

function addHeaderPair(command: Command, name: string, where: string): Command {
  const what = `header for the model server; ${where} (repeatable)`;
  const same = "the same, with the value from an environment variable (repeatable)";
  return command
    .option(`--${name} <name: value>`, what, collect)
    .option(`--${name}-env <name=variable>`, same, collect);
}

/** @returns undefined when no password was given; never prompts */
export async function readPassword(
  context: CliContext,
  options: PasswordOptionValues,
): Promise<string | undefined> {
  const { passwordEnv, passwordFile: path } = options;
  if (passwordEnv !== undefined) return envSecret(context, passwordEnv);
  if (path === undefined) return options.password;
  const reading = path === "-" ? context.readStdin() : context.readFile(path);
  const text = await readable(`The password file ${path}`, reading);
  const password = text.split(/\r?\n/, 1)[0] ?? "";
  if (password === "") throw new UsageError(`The password file ${path} has an empty first line`);
  return password;
}

/** The value of the variable that an option names. */
export function envSecret(context: CliContext, variable: string): string {
  const value = context.env[variable] ?? "";
  if (value === "") throw new UsageError(`The environment variable ${variable} is not set`);
  return value;
}

/** @throws UsageError, without a value in it */
export function readHeaders(
  context: CliContext,
  { header, headerEnv }: HeaderOptionValues,
): Record<string, string> {
  return headersOf(context, "--header", header, headerEnv);
}

/** @throws UsageError, without a value in it */
export function readAuthHeaders(
  context: CliContext,
  { authHeader, authHeaderEnv }: AuthHeaderOptionValues,
): Record<string, string> {
  return headersOf(context, "--auth-header", authHeader, authHeaderEnv);
}

/**
 * Each `Name: value` and `Name=VARIABLE` → header. For the same header the variable wins.
 *
 * @param option - the first option's name, for the message
 */
function headersOf(
  context: CliContext,
  option: string,
  texts: readonly string[] = [],
  variables: readonly string[] = [],
): Record<string, string> {
  const headers = Object.fromEntries(texts.map((text) => parseHeader(option, text)));
  for (const text of variables) {
    const equals = text.indexOf("=");
    if (equals < 1) throw new UsageError(`${option}-env must look like "Name=VARIABLE"`);
    const value = envSecret(context, text.slice(equals + 1).trim());
    const [name] = parseHeader(`${option}-env`, `${text.slice(0, equals)}: ${value}`);
    headers[name] = value;
  }
  return headers;
}

/** The value is never repeated in a message. */
function parseHeader(option: string, text: string): [name: string, value: string] {
  const colon = text.indexOf(":");
  const name = text.slice(0, Math.max(colon, 0)).trim();
  const value = text.slice(colon + 1).trim();
  if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(name) || value === "") {
    throw new UsageError(`${option} must look like "Name: value"`);
  }
  return [name, value];
}
