import { checkEndpoint } from "@roomhub/protocol";
import type { CliContext } from "./context.ts";
import { CommandError } from "./exit-code.ts";

/** A model server that answered, and what it serves. */
export interface ModelServer {
  /** As it will be registered. */
  endpoint: string;
  /** What people call the program. */
  name: string;
  models: string[];
}

/** Where the usual programs listen, in the order they are preferred. */
const usualServers = [
  { name: "Ollama", port: 11_434 },
  { name: "LM Studio", port: 1234 },
  { name: "llama.cpp", port: 8080 },
  { name: "vLLM", port: 8000 },
] as const;

const discoveryMs = 500;
const askMs = 3_000;

/** The usual model servers that answer on this machine, all asked at once, in order of preference. */
export async function findModelServers(
  context: CliContext,
  signal?: AbortSignal,
): Promise<ModelServer[]> {
  const asked = usualServers.map(async ({ name, port }): Promise<ModelServer | undefined> => {
    const endpoint = `http://127.0.0.1:${port}`;
    const models = await listModels(context, endpoint, {}, discoveryMs, signal);
    return models === undefined ? undefined : { endpoint, name, models };
  });
  return (await Promise.all(asked)).filter((server) => server !== undefined);
}

export interface ProviderChoice {
  endpoint: string;
  model: string;
  /** Undefined when the endpoint was named by the user. */
  name?: string | undefined;
}

export interface ProviderWish {
  endpoint?: string | undefined;
  model?: string | undefined;
  /** Sent along when the endpoint is asked for its models. */
  headers: Record<string, string>;
}

/**
 * The endpoint and model to offer: what the user named, completed by asking the endpoint, or the first of the usual
 * servers that has the model.
 *
 * @returns undefined when nothing was named and nothing answers
 * @throws CommandError with the next step
 */
export async function chooseProvider(
  context: CliContext,
  wish: ProviderWish,
): Promise<ProviderChoice | undefined> {
  const { endpoint, model } = wish;
  if (endpoint !== undefined) {
    return { endpoint, model: model ?? (await firstModelOf(context, endpoint, wish.headers)) };
  }
  const servers = await findModelServers(context);
  if (model !== undefined) {
    const server = servers.find(({ models }) => models.some((name) => isSameModel(name, model)));
    if (server !== undefined) return { endpoint: server.endpoint, model, name: server.name };
    if (servers.length === 0) return undefined;
    const known = servers.flatMap(({ name, models }) => models.map((id) => `${id} (${name})`));
    throw new CommandError(
      `No model server on this machine has ${model}`,
      known.length === 0 ? "load it there first" : `choose one of: ${known.slice(0, 8).join(", ")}`,
    );
  }
  for (const server of servers) {
    const first = preferredModel(server.models);
    if (first !== undefined) return { endpoint: server.endpoint, model: first, name: server.name };
  }
  const empty = servers[0];
  if (empty === undefined) return undefined;
  throw new CommandError(
    `${empty.name} answers at ${empty.endpoint} but has no model`,
    empty.name === "Ollama" ? "ollama pull llama3.2" : "load a model there first",
  );
}

/** What to say when there is no model server to offer. */
export function noModelServer(): CommandError {
  const looked = usualServers.map(({ name, port }) => `${name} :${port}`).join(", ");
  return new CommandError(
    `No model server answers on this machine (looked for ${looked})`,
    "start one, for example: ollama run llama3.2; or name yours with --endpoint http://HOST:PORT",
  );
}

async function firstModelOf(
  context: CliContext,
  endpoint: string,
  headers: Record<string, string>,
): Promise<string> {
  const models = await listModels(context, endpoint, headers, askMs);
  const first = models === undefined ? undefined : preferredModel(models);
  if (first !== undefined) return first;
  throw new CommandError(
    models === undefined
      ? `${endpoint} does not list its models, so the model is unknown`
      : `${endpoint} has no model`,
    "name the model with --model NAME",
  );
}

/** Embedding models answer no chat; they are offered only when there is nothing else. */
function preferredModel(models: readonly string[]): string | undefined {
  return models.find((model) => !/embed/i.test(model)) ?? models[0];
}

/** Exactly, then without `:latest` on either side. Contract §3. */
function isSameModel(a: string, b: string): boolean {
  return a === b || a.replace(/:latest$/, "") === b.replace(/:latest$/, "");
}

/** @returns undefined when nothing answers there, or something that is no model server */
async function listModels(
  context: CliContext,
  endpoint: string,
  headers: Record<string, string>,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<string[] | undefined> {
  const check = checkEndpoint(endpoint);
  if (!check.ok) throw new CommandError(`The endpoint ${endpoint} ${check.reason}`);
  const deadline = AbortSignal.timeout(timeoutMs);
  try {
    const response = await context.fetch(`${check.baseUrl}/models`, {
      headers: { accept: "application/json", ...headers },
      redirect: "error",
      signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
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
