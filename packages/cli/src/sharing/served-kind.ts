import { checkEndpoint, isObject, parseObject, timeoutSignal } from "@roomhub/protocol";
import type { CliContext } from "../context.ts";
import type { ParticipantOptions } from "@roomhub/participant";
import { safe } from "../terminal/text.ts";
import type { FoundServer } from "./found-server.ts";

/** Servers to choose from, and rerankers, which serve nothing that a room relays. */
export interface SortedServers {
  servers: FoundServer[];
  rerankers: FoundServer[];
}

/** What a room relays to an embedding model. A decoder chats all the same, and does so for those who name its model. */
const embeddingsAlone: ParticipantOptions["capabilities"] = {
  embeddings: "supported",
  ...{ chatCompletions: "unsupported", openResponses: "unsupported" },
  ...{ messages: "unsupported", completions: "unsupported" },
};

/**
 * Finds out which servers are for embeddings or reranking, as far as they show it without generating anything.
 *
 * @param headers - credentials for a server that the user named
 */
export async function sortServers(
  context: CliContext,
  found: readonly FoundServer[],
  headers: Readonly<Record<string, string>>,
): Promise<SortedServers> {
  const kinds = await Promise.all(found.map((server) => kindOf(context, server, headers)));
  const sorted: SortedServers = { servers: [], rerankers: [] };
  for (const [at, server] of found.entries()) {
    if (kinds[at] === "reranking") sorted.rerankers.push(server);
    else if (kinds[at] === "other") sorted.servers.push(server);
    else sorted.servers.push({ ...server, capabilities: embeddingsAlone });
  }
  return sorted;
}

/** Why a reranker is not shared. */
export function rerankerText({ name, endpoint }: FoundServer): string {
  const where = name === undefined ? "" : `${name} at `;
  return `${where}${safe(endpoint)} is a reranker, and rooms relay no reranking`;
}

type ServedKind = "embeddings" | "reranking" | "other";

const queryMs = 1_000;

async function kindOf(
  context: CliContext,
  { endpoint, name, models = [], isLlamaCpp }: FoundServer,
  headers: Readonly<Record<string, string>>,
): Promise<ServedKind> {
  const check = checkEndpoint(endpoint);
  if (!check.ok || models.length === 0) return "other";
  const credentials = name === undefined ? headers : {};
  const query: QueryText = (url, body) => textOf(context, url, credentials, body);
  return isLlamaCpp === true
    ? kindOfLlamaServer(check.baseUrl, query)
    : kindByPaths(check.baseUrl, query);
}

/** GET, or POST with a body. */
type QueryText = (url: string, body?: string) => Promise<string>;

/**
 * It responds 501 to what it was not started for, and names the field that is missing to the rest. A server started with
 * `--reranking` takes embeddings too; one with `--embeddings` and no pooling takes none in OpenAI's form.
 */
async function kindOfLlamaServer(baseUrl: string, query: QueryText): Promise<ServedKind> {
  // Any POST would load the model of one that sleeps.
  const isAsleep = /"is_sleeping": ?true/.test(await query(`${rootOf(baseUrl)}/props`));
  if (isAsleep) return "other";
  const [reranking, embeddings] = await Promise.all([
    query(`${baseUrl}/rerank`, "{}"),
    query(`${baseUrl}/embeddings`, "{}"),
  ]);
  if (/\\?"query\\?" must be provided/.test(reranking)) return "reranking";
  return /\\?"content\\?" must be provided/.test(embeddings) ? "embeddings" : "other";
}

/** Programs built with FastAPI list their paths; some list only paths that the model serves. */
async function kindByPaths(baseUrl: string, query: QueryText): Promise<ServedKind> {
  const listing = await query(`${rootOf(baseUrl)}/openapi.json`);
  const paths = pathsIn(listing);
  const has = (name: string) => paths.some((path) => path.endsWith(name));
  if (has("/completions")) return "other";
  if (has("/embeddings")) return "embeddings";
  return has("/rerank") ? "reranking" : "other";
}

function rootOf(baseUrl: string): string {
  return baseUrl.replace(/\/v1$/, "");
}

function pathsIn(listing: string): string[] {
  const paths = parseObject(listing)?.["paths"];
  return isObject(paths) ? Object.keys(paths) : [];
}

/** @returns the body, whatever the status; empty without a response in time */
async function textOf(
  context: CliContext,
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string | undefined,
): Promise<string> {
  const request =
    body === undefined
      ? { headers }
      : { method: "POST", headers: { ...headers, "content-type": "application/json" }, body };
  try {
    const signal = timeoutSignal(context.world, queryMs);
    const response = await context.fetch(url, { ...request, redirect: "manual", signal });
    return await response.text();
  } catch {
    return "";
  }
}
