import { HubUnreachableError, type Invite } from "@roomhub/client";
import { isClientName, NAME_KEY_PREFIX } from "@roomhub/protocol";
import { type Command, InvalidArgumentError, Option } from "commander";
import type { CliContext, Client } from "../context.ts";
import { defaultHubUrl } from "../rooms/hub-address.ts";
import { hintHere } from "../rooms/hub-hint.ts";
import { addHubOptions, type HubOptionValues, inviteOf } from "../options.ts";
import { unreachableHubHint } from "../rooms/hub-hint.ts";
import { safe, shellWord, writeJson } from "../terminal/text.ts";

const shells = ["sh", "fish", "powershell", "json"] as const;
type Shell = (typeof shells)[number];

interface EnvOptionValues extends HubOptionValues {
  model?: string;
  as?: string;
  shell: Shell;
}

type Variables = Record<string, string>;

export function addEnvCommand(program: Command, context: CliContext): void {
  addHubOptions(
    program
      .command("env")
      .argument("<room>", "room code or invite URL")
      .description("print the variables that point OpenAI and Anthropic clients at a room"),
  )
    .option("--model <selector>", "set a model too: participant id, model name, or * for any")
    .addOption(
      new Option("--as <name>", "name the person who sends the requests").argParser(clientName),
    )
    .addOption(new Option("--shell <shell>", "syntax of the output").choices(shells).default("sh"))
    .addHelpText(
      "after",
      '\nExample:\n  $ eval "$(roomhub env ABC234)"\n  $ roomhub env ABC234 --as alice\n  $ roomhub env ABC234 --shell fish | source',
    )
    .action((room: string, options: EnvOptionValues) => printEnv(context, room, options));
}

/** An unknown room prints nothing a shell could evaluate; an unreachable hub is only a warning. */
async function printEnv(
  context: CliContext,
  room: string,
  options: EnvOptionValues,
): Promise<void> {
  const invite = inviteOf(room, options);
  const client = context.createClient(invite.hubUrl);
  try {
    await client.getRoom(invite.room);
    if (options.model !== undefined) await warnAboutModel(context, client, invite, options.model);
  } catch (error) {
    if (!(error instanceof HubUnreachableError)) throw error;
    context.stderr.write(`! ${safe(error.message)}\n→ ${unreachableHubHint(context, error)}\n`);
  }
  const variables = variablesOf(client.baseUrl(invite.room), options);
  const shell = options.json === true ? "json" : options.shell;
  if (shell === "json") return writeJson(context.stdout, variables);
  context.stdout.write(
    Object.entries(variables)
      .map(([name, value]) => `${assignments[shell](name, value)}\n`)
      .join(""),
  );
  if (context.stdout.isTTY) printUsage(context, invite, options, shell);
}

/** A warning only, since a participant with the model may join later. */
async function warnAboutModel(
  context: CliContext,
  client: Client,
  { hubUrl, room }: Invite,
  model: string,
): Promise<void> {
  const { refusal } = await client.explainRoute(room, { model });
  if (refusal === undefined) return;
  context.stderr.write(
    `! ${safe(refusal.message)}\n→ ${hintHere(context, safe(refusal.hint), hubUrl)}\n`,
  );
}

function clientName(name: string): string {
  if (isClientName(name)) return name;
  throw new InvalidArgumentError(
    "Use 1 to 32 letters, digits, dots, hyphens and underscores; begin with a letter or digit.",
  );
}

/**
 * Hubs accept any key, but clients require one, and a real key already in the environment must not be sent to a room.
 *
 * Anthropic's SDKs append `/v1` themselves.
 */
function variablesOf(
  baseUrl: string,
  { model, as }: Pick<EnvOptionValues, "model" | "as">,
): Variables {
  const key = as === undefined ? "roomhub" : `${NAME_KEY_PREFIX}${as}`;
  return {
    OPENAI_BASE_URL: baseUrl,
    OPENAI_API_KEY: key,
    ANTHROPIC_BASE_URL: baseUrl.replace(/\/v1$/, ""),
    ANTHROPIC_API_KEY: key,
    ...(model === undefined ? {} : { OPENAI_MODEL: model, ANTHROPIC_MODEL: model }),
  };
}

type NamedShell = Exclude<Shell, "json">;

const quotes: Record<NamedShell, (value: string) => string> = {
  sh: shellWord,
  // Inside single quotes fish reads only \\ and \'.
  fish: (value) => `'${value.replaceAll(/[\\']/g, String.raw`\$&`)}'`,
  // PowerShell takes four typographic quotes for ' as well; each stands for itself when doubled.
  powershell: (value) => `'${value.replaceAll(/['‘’‚‛]/g, "$&$&")}'`,
};

const assignments: Record<NamedShell, (name: string, value: string) => string> = {
  sh: (name, value) => `export ${name}=${quotes.sh(value)}`,
  fish: (name, value) => `set -gx ${name} ${quotes.fish(value)}`,
  powershell: (name, value) => `$env:${name} = ${quotes.powershell(value)}`,
};

/** Prints the line that evaluates the output of this same command. */
function printUsage(
  context: CliContext,
  { hubUrl, room }: Invite,
  { model, as }: EnvOptionValues,
  shell: NamedShell,
): void {
  const where = hubUrl === defaultHubUrl ? room : `${hubUrl}/rooms/${room}`;
  const named = model === undefined ? "" : ` --model ${quotes[shell](model)}`;
  const command = `${context.commandName} env ${shellWord(where)}${named}${as === undefined ? "" : ` --as ${as}`}`;
  const use: Record<NamedShell, string> = {
    sh: `eval "$(${command})"`,
    fish: `${command} --shell fish | source`,
    powershell: `${command} --shell powershell | Invoke-Expression`,
  };
  context.stderr.write(`→ ${use[shell]}\n`);
}
