import {
  type CertificateProblem,
  certificateProblem,
  checkEndpoint,
  ERROR_STATUS,
  type Readiness,
  readinessOfModelList,
  urlBelow,
  timeoutSignal,
} from "@roomhub/protocol";
import { RoomhubError } from "@roomhub/client";
import type { CliContext } from "../context.ts";
import { CommandError, EXIT } from "../exit-code.ts";
import type { ParticipantOptions } from "@roomhub/participant";
import { capabilitiesByModel, capabilitiesFor } from "./served-surfaces.ts";
import { safe, shellWord } from "../terminal/text.ts";

/** A model server, as seen in its response to `GET {base}/models`. */
export interface FoundServer {
  /** The URL it is shared with. */
  endpoint: string;
  /** The program's name; undefined when the endpoint was named by the user. */
  name: string | undefined;
  readiness: Readiness;
  /** of the response; undefined when there was none */
  status: number | undefined;
  /** undefined when it does not list its models */
  models: string[] | undefined;
  /** why its certificate was rejected, if it was */
  certificate?: CertificateProblem;
  /** whether its model list is a llama-server's */
  isLlamaCpp?: boolean;
  /** whether its list contains only the names of its models */
  isBareList?: boolean;
  /** what its models are shared for; undefined for everything */
  capabilities?: ParticipantOptions["capabilities"];
  /** the same for single models, by name */
  capabilitiesByModel?: ReadonlyMap<string, ParticipantOptions["capabilities"]>;
}

const ollama = { name: "Ollama", port: 11_434 };

/** Default ports of common model servers, in order of preference. */
const defaultServers = [
  ollama,
  { name: "LM Studio", port: 1234 },
  { name: "llama.cpp", port: 8080 },
  { name: "llama.cpp", port: 9931 },
  { name: "vLLM", port: 8000 },
] as const;

/** A machine with a busy model may take this long to respond. A port where nothing listens refuses at once. */
const queryMs = 3_000;

/**
 * The model servers on this machine's default ports, queried concurrently, in order of preference: those that list their
 * models, are loading one, or require credentials.
 *
 * @param headers - credentials, sent only to a server that refused the request without them
 */
export async function findModelServers(
  context: CliContext,
  headers: Readonly<Record<string, string>> = {},
): Promise<FoundServer[]> {
  const found = await Promise.all(
    defaultEndpoints(context).map((usual) => queryAnyServer(context, usual, headers)),
  );
  return found.filter((server) => server !== undefined);
}

/** The model server at an endpoint that the user named. `down` when it does not respond. */
export async function queryModelServer(
  context: CliContext,
  endpoint: string,
  headers: Readonly<Record<string, string>>,
): Promise<FoundServer> {
  const { isApi: _, program: __, ...listing } = await listModels(context, endpoint, headers);
  return { endpoint, name: undefined, ...listing };
}

/** Whether the server that refused a request is not a hub. Only for requests that every hub serves, such as for its health. */
export function isOfAnotherServer(error: unknown): error is RoomhubError {
  return error instanceof RoomhubError && (error.status === 404 || !(error.code in ERROR_STATUS));
}

/** The same error, unless a model server at the hub's URL explains it. */
export async function explainOtherServer(
  context: CliContext,
  hubUrl: string,
  error: unknown,
): Promise<unknown> {
  const problem = isOfAnotherServer(error) ? await modelServerProblem(context, hubUrl) : undefined;
  return problem ?? error;
}

/** The error for a hub's URL that is a model server's; undefined when it is not. */
export async function modelServerProblem(
  context: CliContext,
  url: string,
): Promise<CommandError | undefined> {
  const usual = { name: undefined, endpoint: url };
  const server = await queryAnyServer(context, usual, {});
  if (server === undefined) return undefined;
  const { models = [], status } = server;
  const list = models.length > 0 ? `lists ${modelsText(models)}` : `responds with ${status}`;
  const endpoint = `--endpoint ${shellWord(url)}`;
  return new CommandError(
    `The server at ${url} is a model server, not a hub: it ${list}`,
    `share its models: ${context.commandName} join ${endpoint}; or host a room with them: ${context.commandName} up ${endpoint}`,
    EXIT.unreachable,
  );
}

const listedModels = 5;

/** `llama3.2, qwen3 and 4 more` */
export function modelsText(models: readonly string[]): string {
  const more = models.length > listedModels ? ` and ${models.length - listedModels} more` : "";
  return models.slice(0, listedModels).map(safe).join(", ") + more;
}

/** Any program may be at a default port or a hub's URL, so only one that responds like a model server counts. */
async function queryAnyServer(
  context: CliContext,
  { name, endpoint }: Pick<FoundServer, "name" | "endpoint">,
  headers: Readonly<Record<string, string>>,
): Promise<FoundServer | undefined> {
  let found = await listModels(context, endpoint, {});
  const hasCredentials = Object.keys(headers).length > 0;
  if (found.isApi && found.readiness === "needs-credentials" && hasCredentials) {
    found = await listModels(context, endpoint, headers);
  }
  const { isApi, program = name, ...listing } = found;
  const server = { endpoint, name: program, ...listing };
  return isApi && listing.readiness !== "down" ? server : undefined;
}

/** The error when no model server is found. */
export function noModelServer(context: CliContext): CommandError {
  const checked = defaultEndpoints(context)
    .map(({ name, endpoint }) => `${name} ${endpoint.replace("http://127.0.0.1", "")}`)
    .join(", ");
  return new CommandError(
    `No model server found on this machine (checked ${checked})`,
    "start one, for example: ollama run llama3.2; or name yours with --endpoint http://HOST:PORT",
  );
}

/** A server in a sentence: `Ollama at http://127.0.0.1:11434`. */
export function serverText({ name, endpoint }: FoundServer): string {
  return `${name ?? "the model server"} at ${safe(endpoint)}`;
}

/**
 * The problem with a server that requires credentials, and the next step.
 *
 * @param headers - as sent to it; their values are never shown
 */
export function credentialsProblem(
  server: FoundServer,
  headers: Readonly<Record<string, string>>,
): { problem: string; fix: string } {
  const names = Object.keys(headers).map(safe).join(", ");
  if (names === "") {
    return {
      problem: `${serverText(server)} requires credentials (${server.status})`,
      fix: `pass them from a variable: --endpoint ${shellWord(server.endpoint)} --header-env "Authorization=VARIABLE"`,
    };
  }
  return {
    problem: `${serverText(server)} rejected the credentials (${server.status}; headers: ${names})`,
    fix: 'check the value; most servers expect "Bearer KEY"',
  };
}

/** The models to share: embedding models cannot chat, so they are included only when there is nothing else. */
export function offerableModels(models: readonly string[]): readonly string[] {
  const chatting = models.filter((model) => !/embed/i.test(model));
  return chatting.length > 0 ? chatting : models;
}

function defaultEndpoints({ env }: CliContext) {
  const moved = ollamaEndpoint(env["OLLAMA_HOST"]);
  return defaultServers.map(({ name, port }) => ({
    name,
    endpoint: name === ollama.name && moved !== undefined ? moved : `http://127.0.0.1:${port}`,
  }));
}

/**
 * `OLLAMA_HOST` as Ollama reads it: `host`, `host:port`, `:port`, or a URL, whose default port is its scheme's. A wildcard
 * address becomes loopback.
 */
function ollamaEndpoint(value: string | undefined): string | undefined {
  const text = (value ?? "").trim();
  if (text === "") return undefined;
  const isUrl = /^https?:\/\//.test(text);
  try {
    const url = new URL(isUrl ? text : `http://${text.replace(/^:/, "127.0.0.1:")}`);
    const host = ["0.0.0.0", "[::]"].includes(url.hostname) ? "127.0.0.1" : url.hostname;
    const port = url.port || (isUrl ? "" : String(ollama.port));
    return `${url.protocol}//${host}${port === "" ? "" : `:${port}`}`;
  } catch {
    // Ollama falls back to its default address too.
    return undefined;
  }
}

/** The result of `GET {base}/models`. */
interface Listing extends Omit<FoundServer, "endpoint" | "name"> {
  /** the program, if the response shows it: several have the same usual port */
  program?: string;
  /** whether the response looks like an API's: a model list, or a JSON error */
  isApi: boolean;
}

const noResponse: Listing = {
  readiness: "down",
  status: undefined,
  models: undefined,
  isApi: false,
};

/** @throws CommandError for an invalid endpoint */
async function listModels(
  context: CliContext,
  endpoint: string,
  headers: Readonly<Record<string, string>>,
): Promise<Listing> {
  const check = checkEndpoint(endpoint);
  if (!check.ok) throw new CommandError(`The endpoint ${endpoint} ${check.reason}`);
  let response: Response;
  let body: { data?: unknown; error?: unknown } | null | undefined;
  try {
    response = await context.fetch(urlBelow(check.baseUrl, "/models"), {
      headers: { accept: "application/json", ...headers },
      redirect: "manual",
      signal: timeoutSignal(context.world, queryMs),
    });
  } catch (error) {
    // No connection, or a timeout.
    const certificate = certificateProblem(error);
    return certificate === undefined ? noResponse : { ...noResponse, certificate };
  }
  try {
    body = (await response.json()) as typeof body;
  } catch {
    body = undefined; // Not JSON, or truncated: only the status counts.
  }
  const { status } = response;
  if (response.headers.get("server") === "whisper.cpp") {
    // Whether it translates follows from its options, and is found out by its participant.
    const { audioTranslations: _, ...capabilities } = capabilitiesFor(["transcription"]);
    const readiness = "ready";
    return { ...noResponse, readiness, status, isApi: true, program: "whisper.cpp", capabilities };
  }
  const models = response.ok ? idsIn(body?.data) : undefined;
  const isApi = models !== undefined || (status >= 400 && Boolean(body?.error));
  const listing = { readiness: readinessOfModelList(status), status, models, isApi };
  const [first] = Array.isArray(body?.data) ? (body.data as ({ owned_by?: unknown } | null)[]) : [];
  if (first?.owned_by === "llamacpp") return { ...listing, isLlamaCpp: true };
  const byModel = capabilitiesByModel(body?.data);
  if (byModel.size > 0) return { ...listing, program: "speaches", capabilitiesByModel: byModel };
  return first != null && first.owned_by === undefined ? { ...listing, isBareList: true } : listing;
}

function idsIn(data: unknown): string[] | undefined {
  if (!Array.isArray(data)) return undefined;
  return data
    .map((entry: { id?: unknown } | null) => entry?.id)
    .filter((id) => typeof id === "string");
}
