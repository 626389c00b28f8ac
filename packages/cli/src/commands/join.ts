import { HubUnreachableError } from "@roomhub/client";
import { participantIdProblem } from "@roomhub/protocol";
import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { CommandError, EXIT, UsageError } from "../exit-code.ts";
import { chooseProvider, noModelServer } from "../model-server.ts";
import {
  addHubOptions,
  collect,
  type HubOptionValues,
  inviteOf,
  jsonObjectArgument,
  positiveArgument,
} from "../options.ts";
import { freeId, suggestId } from "../participant-name.ts";
import { runParticipant } from "../run-participant.ts";
import {
  addPasswordOptions,
  envSecret,
  parseHeader,
  type PasswordOptionValues,
  readPassword,
} from "../secrets.ts";
import type { ParticipantOptions } from "../services.ts";
import { untilStopped } from "../stop-signal.ts";

interface JoinOptionValues extends HubOptionValues, PasswordOptionValues {
  model?: string;
  endpoint?: string;
  id?: string;
  nickname?: string;
  header?: string[];
  headerEnv?: string[];
  authHeader?: string[];
  maxConcurrency?: number;
  specs?: Record<string, unknown>;
  config?: Record<string, unknown>;
}

export function addJoinCommand(program: Command, context: CliContext): void {
  addPasswordOptions(
    addHubOptions(
      program
        .command("join")
        .argument("<room>", "room code or invite URL")
        .description("offer a model of this machine to a room, until stopped"),
    ),
  )
    .option("--endpoint <url>", "the model server (default: the first that answers here)")
    .option("--model <name>", "the model to offer (default: the server's first)")
    .option("--id <id>", "name in requests' model field (default: nickname-model)")
    .option("--nickname <name>", "who offers it (default: your user name)")
    .option(
      "--header <name: value>",
      "header for the model server; stays on this machine (repeatable)",
      collect,
    )
    .option(
      "--header-env <name=variable>",
      "the same, its value from an environment variable (repeatable)",
      collect,
    )
    .option(
      "--auth-header <name: value>",
      "header for the model server, handed to the hub (repeatable)",
      collect,
    )
    .option("--max-concurrency <number>", "requests served at once", positiveArgument)
    .option("--specs <json>", "what the machine is, for others to see", jsonObjectArgument)
    .option("--config <json>", "defaults below the requests' own values", jsonObjectArgument)
    .addHelpText(
      "after",
      '\nExample:\n  $ roomhub join http://192.168.1.5:5050/rooms/ABC234\n  $ roomhub join ABC234 --endpoint https://api.example.com/v1 --model big-1 --header-env "Authorization=API_AUTH"',
    )
    .action((room: string, options: JoinOptionValues) => join(context, room, options));
}

async function join(context: CliContext, room: string, options: JoinOptionValues): Promise<void> {
  const participant = await participantOptions(context, room, options);
  await untilStopped(context, (signal) =>
    runParticipant(context, participant, { signal, isJson: options.json === true }),
  );
}

/** Everything the command line leaves out is found out here, before anything is started. */
async function participantOptions(
  context: CliContext,
  room: string,
  options: JoinOptionValues,
): Promise<ParticipantOptions> {
  const { hubUrl, room: code } = inviteOf(room, options);
  const headers = localHeaders(context, options);
  const authHeaders = headersOf("--auth-header", options.authHeader);
  if (options.id !== undefined) {
    const problem = participantIdProblem(options.id);
    if (problem !== undefined) throw new UsageError(`--id ${problem}`);
  }
  const password = (await readPassword(context, options)) ?? context.env["ROOMHUB_PASSWORD"];
  const provider = await chooseProvider(context, {
    endpoint: options.endpoint,
    model: options.model,
    headers: { ...authHeaders, ...headers },
  });
  if (provider === undefined) throw noModelServer();
  if (provider.name !== undefined) {
    context.stderr.write(`Found ${provider.name} at ${provider.endpoint}\n`);
  }
  const nickname = options.nickname ?? context.userName;
  const id = await checkRoom(
    context,
    { hubUrl, room: code, password },
    { given: options.id, suggested: suggestId(nickname, provider.model) },
  );
  const concurrency =
    options.maxConcurrency === undefined ? {} : { maxConcurrency: options.maxConcurrency };
  const config = { ...options.config, ...concurrency };
  return {
    hubUrl,
    room: code,
    id,
    nickname,
    model: provider.model,
    endpoint: provider.endpoint,
    password,
    specs: options.specs,
    config: Object.keys(config).length === 0 ? undefined : config,
    headers,
    authHeaders,
  };
}

/**
 * Asks the hub about the room before anything starts, so that a mistyped code or URL ends the command instead of being
 * retried for ever. Behind a corporate proxy only the agent gets through, so there it is left to the agent.
 *
 * @returns the id to use
 */
async function checkRoom(
  context: CliContext,
  { hubUrl, room, password }: { hubUrl: string; room: string; password: string | undefined },
  id: { given: string | undefined; suggested: string },
): Promise<string> {
  const client = context.createClient(hubUrl);
  try {
    const { passwordProtected } = await client.getRoom(room);
    if (passwordProtected && password === undefined) {
      throw new CommandError(
        `Room ${room} has a password`,
        "give it in ROOMHUB_PASSWORD, or with --password-env VARIABLE or --password-file PATH",
        EXIT.refused,
      );
    }
    return id.given ?? freeId(id.suggested, await client.listParticipants(room));
  } catch (error) {
    if (!(error instanceof HubUnreachableError) || !hasProxy(context.env)) throw error;
    return id.given ?? id.suggested;
  }
}

function hasProxy(env: CliContext["env"]): boolean {
  return ["http_proxy", "https_proxy"].some(
    (name) => (env[name] ?? env[name.toUpperCase()] ?? "") !== "",
  );
}

function localHeaders(context: CliContext, options: JoinOptionValues): Record<string, string> {
  const headers = headersOf("--header", options.header);
  for (const text of options.headerEnv ?? []) {
    const equals = text.indexOf("=");
    if (equals < 1) throw new UsageError('--header-env must look like "Name=VARIABLE"');
    const value = envSecret(context, text.slice(equals + 1).trim());
    const [name] = parseHeader("--header-env", `${text.slice(0, equals)}: ${value}`);
    headers[name] = value;
  }
  return headers;
}

function headersOf(option: string, texts: readonly string[] | undefined): Record<string, string> {
  return Object.fromEntries((texts ?? []).map((text) => parseHeader(option, text)));
}
