import { checkEndpoint } from "@roomhub/protocol";
import type { CliContext } from "./context.ts";
import { CommandError } from "./exit-code.ts";

/** A model server that answered, and what it serves. */
export interface ModelServer {
  /** As it will be registered. */
  endpoint: string;
  /** What people call the program; undefined when the endpoint was named by the user. */
  name: string | undefined;
  models: string[];
}

const ollama = { name: "Ollama", port: 11_434 };

/** Where the usual programs listen, in the order they are preferred. */
const usualServers = [
  ollama,
  { name: "LM Studio", port: 1234 },
  { name: "llama.cpp", port: 8080 },
  { name: "vLLM", port: 8000 },
] as const;

const discoveryMs = 500;
const askMs = 3_000;

/** The usual model servers that answer on this machine, all asked at once, in order of preference. */
export async function findModelServers(context: CliContext): Promise<ModelServer[]> {
  const asked = usualEndpoints(context).map(
    async ({ name, endpoint }): Promise<ModelServer | undefined> => {
      const models = await listModels(context, endpoint, {}, discoveryMs);
      return models === undefined ? undefined : { endpoint, name, models };
    },
  );
  return (await Promise.all(asked)).filter((server) => server !== undefined);
}

/** @returns undefined when nothing answers there, or something that does not list its models */
export async function askModelServer(
  context: CliContext,
  endpoint: string,
  headers: Record<string, string>,
): Promise<ModelServer | undefined> {
  const models = await listModels(context, endpoint, headers, askMs);
  return models === undefined ? undefined : { endpoint, name: undefined, models };
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

/** Exactly, then without `:latest` on either side. Contract §3. */
export function isSameModel(a: string, b: string): boolean {
  return a === b || a.replace(/:latest$/, "") === b.replace(/:latest$/, "");
}

/** Those to offer, the best first: embedding models answer no chat, and are there only when nothing else is. */
export function offerableModels(models: readonly string[]): readonly string[] {
  const chatting = models.filter((model) => !/embed/i.test(model));
  return chatting.length > 0 ? chatting : models;
}

function usualEndpoints({ env }: CliContext): { name: string; endpoint: string }[] {
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

async function listModels(
  context: CliContext,
  endpoint: string,
  headers: Record<string, string>,
  timeoutMs: number,
): Promise<string[] | undefined> {
  const check = checkEndpoint(endpoint);
  if (!check.ok) throw new CommandError(`The endpoint ${endpoint} ${check.reason}`);
  try {
    const response = await context.fetch(`${check.baseUrl}/models`, {
      headers: { accept: "application/json", ...headers },
      redirect: "error",
      signal: AbortSignal.timeout(timeoutMs),
    });
    const body = (await response.json()) as { data?: unknown } | null;
    if (!response.ok || !Array.isArray(body?.data)) return undefined;
    return body.data
      .map((entry: { id?: unknown } | null) => entry?.id)
      .filter((id) => typeof id === "string");
  } catch {
    // Nobody there, or nobody who speaks this: the same to us.
    return undefined;
  }
}
