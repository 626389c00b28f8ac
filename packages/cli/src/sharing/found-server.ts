import { checkEndpoint, type Readiness, readinessOfModelList } from "@roomhub/protocol";
import type { CliContext } from "../context.ts";
import { CommandError } from "../exit-code.ts";
import { safe, shellWord } from "../terminal/text.ts";

/** A model server, as its answer to `GET {base}/models` shows it. */
export interface FoundServer {
  /** As it will be registered. */
  endpoint: string;
  /** What people call the program; undefined when the endpoint was named by the user. */
  name: string | undefined;
  readiness: Readiness;
  /** of the answer; undefined when there was none */
  status: number | undefined;
  /** undefined when it does not list its models */
  models: string[] | undefined;
  /** It is a llama-server by its own list. */
  isLlamaCpp?: boolean;
}

const ollama = { name: "Ollama", port: 11_434 };

/** Where the usual programs listen, in the order they are preferred. */
const usualServers = [
  ollama,
  { name: "LM Studio", port: 1234 },
  { name: "llama.cpp", port: 8080 },
  { name: "llama.cpp", port: 9931 },
  { name: "vLLM", port: 8000 },
] as const;

const discoveryMs = 500;
const queryMs = 3_000;

/**
 * The usual model servers of this machine, all queried at once, in order of preference: those that list their models, load
 * one, or require credentials.
 *
 * @param headers - credentials, sent only to a server that refused the request without them
 */
export async function findModelServers(
  context: CliContext,
  headers: Readonly<Record<string, string>> = {},
): Promise<FoundServer[]> {
  const found = await Promise.all(
    usualEndpoints(context).map((usual) => queryUsual(context, usual, headers)),
  );
  return found.filter((server) => server !== undefined);
}

/** The model server at an endpoint that the user named. `down` when there is no answer. */
export async function queryModelServer(
  context: CliContext,
  endpoint: string,
  headers: Readonly<Record<string, string>>,
): Promise<FoundServer> {
  const { isApi: _, ...listing } = await listModels(context, endpoint, headers, queryMs);
  return { endpoint, name: undefined, ...listing };
}

/** Any program may listen on a usual port: only one that answers like a model server counts. */
async function queryUsual(
  context: CliContext,
  { name, endpoint }: UsualEndpoint,
  headers: Readonly<Record<string, string>>,
): Promise<FoundServer | undefined> {
  let found = await listModels(context, endpoint, {}, discoveryMs);
  const hasCredentials = Object.keys(headers).length > 0;
  if (found.isApi && found.readiness === "needs-credentials" && hasCredentials) {
    found = await listModels(context, endpoint, headers, discoveryMs);
  }
  const { isApi, ...listing } = found;
  return isApi && listing.readiness !== "down" ? { endpoint, name, ...listing } : undefined;
}

/** What to say when there is no model server to offer. */
export function noModelServer(context: CliContext): CommandError {
  const looked = usualEndpoints(context)
    .map(({ name, endpoint }) => `${name} ${endpoint.replace("http://127.0.0.1", "")}`)
    .join(", ");
  return new CommandError(
    `No model server answers on this machine (looked for ${looked})`,
    "start one, for example: ollama run llama3.2; or name yours with --endpoint http://HOST:PORT",
  );
}

/** How people read of a server: `Ollama at http://127.0.0.1:11434`. */
export function serverText({ name, endpoint }: FoundServer): string {
  return `${name ?? "the model server"} at ${safe(endpoint)}`;
}

/**
 * What a server that requires credentials lacks, and the next step.
 *
 * @param headers - those it was sent; their values are never shown
 */
export function credentialsProblem(
  server: FoundServer,
  headers: Readonly<Record<string, string>>,
): { problem: string; fix: string } {
  const names = Object.keys(headers).map(safe).join(", ");
  if (names === "") {
    return {
      problem: `${serverText(server)} requires credentials (${server.status})`,
      fix: `name the variable that holds them: --endpoint ${shellWord(server.endpoint)} --header-env "Authorization=VARIABLE"`,
    };
  }
  return {
    problem: `${serverText(server)} does not accept the credentials it was sent (${server.status}; headers: ${names})`,
    fix: "check the value: for most servers it is the word Bearer, a space, and the key",
  };
}

/** Those to offer, the best first: embedding models answer no chat, and are there only when nothing else is. */
export function offerableModels(models: readonly string[]): readonly string[] {
  const chatting = models.filter((model) => !/embed/i.test(model));
  return chatting.length > 0 ? chatting : models;
}

interface UsualEndpoint {
  name: string;
  endpoint: string;
}

function usualEndpoints({ env }: CliContext): UsualEndpoint[] {
  const moved = ollamaEndpoint(env["OLLAMA_HOST"]);
  return usualServers.map(({ name, port }) => ({
    name,
    endpoint: name === ollama.name && moved !== undefined ? moved : `http://127.0.0.1:${port}`,
  }));
}

/**
 * `OLLAMA_HOST` as Ollama reads it: `host`, `host:port`, `:port`, or a URL, whose port is then its scheme's. A server that
 * listens everywhere is reached on this machine.
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
    // Ollama falls back to its usual place too.
    return undefined;
  }
}

/** What an answer to `GET {base}/models` says. */
interface Listing extends Pick<FoundServer, "readiness" | "status" | "models" | "isLlamaCpp"> {
  /** It has the form of an API's answer: a models list, or a JSON error. */
  isApi: boolean;
}

const noAnswer: Listing = { readiness: "down", status: undefined, models: undefined, isApi: false };

/** @throws CommandError for an endpoint that is none */
async function listModels(
  context: CliContext,
  endpoint: string,
  headers: Readonly<Record<string, string>>,
  timeoutMs: number,
): Promise<Listing> {
  const check = checkEndpoint(endpoint);
  if (!check.ok) throw new CommandError(`The endpoint ${endpoint} ${check.reason}`);
  let response: Response;
  let body: { data?: unknown; error?: unknown } | null | undefined;
  try {
    response = await context.fetch(`${check.baseUrl}/models`, {
      headers: { accept: "application/json", ...headers },
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutMs),
    });
  } catch {
    return noAnswer; // no connection, or no answer in time
  }
  try {
    body = (await response.json()) as typeof body;
  } catch {
    body = undefined; // a page, or cut off: the status is what there is
  }
  const { status } = response;
  const models = response.ok ? idsIn(body?.data) : undefined;
  const isApi = models !== undefined || (status >= 400 && Boolean(body?.error));
  const listing = { readiness: readinessOfModelList(status), status, models, isApi };
  return isOfLlamaCpp(body?.data) ? { ...listing, isLlamaCpp: true } : listing;
}

function isOfLlamaCpp(data: unknown): boolean {
  const [first] = Array.isArray(data) ? (data as ({ owned_by?: unknown } | null)[]) : [];
  return first?.owned_by === "llamacpp";
}

function idsIn(data: unknown): string[] | undefined {
  if (!Array.isArray(data)) return undefined;
  return data
    .map((entry: { id?: unknown } | null) => entry?.id)
    .filter((id) => typeof id === "string");
}
