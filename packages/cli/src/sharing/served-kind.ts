import {
  checkEndpoint,
  isObject,
  parseObject,
  SURFACE_WORDS,
  SURFACES,
  type SurfaceWord,
  timeoutSignal,
  urlBelow,
} from "@roomhub/protocol";
import type { CliContext } from "../context.ts";
import type { FoundServer } from "./found-server.ts";
import { capabilitiesByModel, capabilitiesFor } from "./served-surfaces.ts";

/**
 * Finds out which servers are not for text, as far as they show that without generating anything. A decoder that is served
 * for embeddings could also chat; it does when its model is named.
 *
 * @param headers - credentials for a server that the user named
 */
export function withKinds(
  context: CliContext,
  found: readonly FoundServer[],
  headers: Readonly<Record<string, string>>,
): Promise<FoundServer[]> {
  return Promise.all(
    found.map(async (server) => {
      // What its list says is certain.
      if (server.capabilities !== undefined || server.capabilitiesByModel !== undefined)
        return server;
      const byModel = await servedByModel(context, server, headers);
      if (byModel.size > 0) return { ...server, capabilitiesByModel: byModel, ...localAi(server) };
      const served = await servedAlone(context, server, headers);
      return served.length === 0 ? server : { ...server, capabilities: capabilitiesFor(served) };
    }),
  );
}

const queryMs = 1_000;

/** LocalAI says in a list of its own what each model is for. */
async function servedByModel(
  context: CliContext,
  { endpoint, name, isBareList }: FoundServer,
  headers: Readonly<Record<string, string>>,
): Promise<ReturnType<typeof capabilitiesByModel>> {
  const check = checkEndpoint(endpoint);
  if (!check.ok || isBareList !== true) return new Map();
  const credentials = name === undefined ? headers : {};
  const url = urlBelow(check.baseUrl, "/models/capabilities");
  return capabilitiesByModel(parseObject(await textOf(context, url, credentials))?.["data"]);
}

/** Its usual port is also llama.cpp's. */
function localAi({ name }: FoundServer): Pick<FoundServer, "name"> {
  return { name: name === undefined ? undefined : "LocalAI" };
}

/** @returns its surfaces; none if it is for text, or does not show what it is for */
async function servedAlone(
  context: CliContext,
  { endpoint, name, models = [], isLlamaCpp }: FoundServer,
  headers: Readonly<Record<string, string>>,
): Promise<SurfaceWord[]> {
  const check = checkEndpoint(endpoint);
  if (!check.ok || models.length === 0) return [];
  const credentials = name === undefined ? headers : {};
  const query: QueryText = (url, body) => textOf(context, url, credentials, body);
  return isLlamaCpp === true
    ? servedByLlamaServer(check.baseUrl, query)
    : servedByPaths(check.baseUrl, query);
}

/** GET, or POST with a body. */
type QueryText = (url: string, body?: string) => Promise<string>;

/**
 * It responds 501 to what it was not started for, and names the field that is missing to the rest. A server started with
 * `--reranking` takes embeddings too; one with `--embeddings` and no pooling takes none in OpenAI's form.
 */
async function servedByLlamaServer(baseUrl: string, query: QueryText): Promise<SurfaceWord[]> {
  // Any POST would load the model of one that sleeps.
  const isAsleep = /"is_sleeping": ?true/.test(await query(`${rootOf(baseUrl)}/props`));
  if (isAsleep) return [];
  const [reranking, embeddings] = await Promise.all([
    query(`${baseUrl}/rerank`, "{}"),
    query(`${baseUrl}/embeddings`, "{}"),
  ]);
  if (/\\?"query\\?" must be provided/.test(reranking)) return ["rerank"];
  return /\\?"content\\?" must be provided/.test(embeddings) ? ["embeddings"] : [];
}

/** Programs built with FastAPI list their paths; some list only paths that the model serves. */
async function servedByPaths(baseUrl: string, query: QueryText): Promise<SurfaceWord[]> {
  const listing = await query(`${rootOf(baseUrl)}/openapi.json`);
  const paths = pathsIn(listing);
  const has = (name: string) => paths.some((path) => path.endsWith(name));
  if (has("/completions") || has("/responses") || has("/messages")) return [];
  const served = SURFACES.filter(({ path }) => has(`/${path}`));
  return [...new Set(served.map(({ protocol }) => SURFACE_WORDS[protocol]))];
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
  body?: string,
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
