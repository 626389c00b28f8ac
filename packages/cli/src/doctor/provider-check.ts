import {
  checkEndpoint,
  isLoopbackHost,
  serverRoot,
  urlBelow,
  timeoutSignal,
} from "@roomhub/protocol";
import {
  credentialsProblem,
  findModelServers,
  type FoundServer,
  modelsText,
  queryModelServer,
  serverText,
} from "../sharing/found-server.ts";
import { servedWords } from "../sharing/served-surfaces.ts";
import { countOf, safe, shellWord } from "../terminal/text.ts";
import { type Check, type Examination, failed, type Finding, ok, skipped } from "./check.ts";
import type { CliContext } from "../context.ts";

/** Whether this machine's model servers respond, and their models. A named one must respond, the default ones may. */
export const providerCheck: Check = {
  name: "provider",
  waitsFor: "model servers to respond",
  timeoutMs: 5_000,
  async run(exam) {
    const { context, headers } = exam;
    const requested = exam.endpoint === undefined ? endpointsHere(exam) : [exam.endpoint];
    const [named, usual] = await Promise.all([
      Promise.all(requested.map((endpoint) => queryModelServer(context, endpoint, headers))),
      exam.endpoint === undefined ? findModelServers(context) : [],
    ]);
    const others = usual.filter(({ endpoint }) => !requested.includes(endpoint));
    const servers = [...named, ...others].filter(({ readiness }) => readiness !== "down");
    const details = await Promise.all(servers.map((server) => describe(exam, server)));
    const problem = problemAmong(named, headers, details);
    if (problem !== undefined) return problem;
    if (servers.length === 0) {
      return skipped("no model server on this machine; none is needed to use a room");
    }
    const where = exam.endpoint === undefined ? " on this machine" : "";
    const verb = servers.length === 1 ? "responds" : "respond";
    return ok(`${countOf(servers.length, "model server")} ${verb}${where}`, details);
  },
};

/** Why a server that was named cannot serve, the most specific reason first. */
function problemAmong(
  servers: readonly FoundServer[],
  headers: Examination["headers"],
  details: readonly string[],
): Finding | undefined {
  const all = (wanted: FoundServer["readiness"]) =>
    servers.filter(({ readiness }) => readiness === wanted);
  const [locked] = all("needs-credentials");
  if (locked !== undefined) {
    const { problem, fix } = credentialsProblem(locked, headers);
    return failed(problem, fix);
  }
  const down = all("down");
  const [first] = down;
  if (first?.certificate !== undefined) {
    const { problem, hint } = first.certificate;
    return failed(`${serverText(first)} ${safe(problem)}`, hint, { details });
  }
  if (first !== undefined) {
    return failed(
      `no model server responds at ${down.map((server) => safe(server.endpoint)).join(", ")}`,
      `start it, then check that it lists its models: curl ${shellWord(modelsUrl(first.endpoint))}`,
      { details },
    );
  }
  const [loading] = all("loading");
  if (loading === undefined) return undefined;
  const found = `${serverText(loading)} is loading its model`;
  return failed(found, "retry once it is loaded", { details });
}

function modelsUrl(endpoint: string): string {
  const check = checkEndpoint(endpoint);
  return urlBelow(check.ok ? check.baseUrl : endpoint, "/models");
}

/** Endpoints on this machine that a hub on this machine calls directly. */
function endpointsHere({ hubUrl, participants = [] }: Examination): string[] {
  if (!isLoopbackHost(new URL(hubUrl).hostname)) return [];
  const dialled = participants
    .filter(({ connection }) => connection.path === "direct")
    .map(({ endpoint }) => endpoint)
    .filter((endpoint) => URL.canParse(endpoint) && isLoopbackHost(new URL(endpoint).hostname));
  return [...new Set(dialled)].slice(0, 8);
}

async function describe({ context, headers }: Examination, server: FoundServer): Promise<string> {
  const { name, endpoint, isLlamaCpp } = server;
  const slots = isLlamaCpp === true ? await slotsText(context, endpoint, headers) : undefined;
  const state = stateOf(server) + (slots === undefined ? "" : `; ${slots}`);
  return `${name ?? "model server"} at ${safe(endpoint)}: ${state}`;
}

function stateOf({ readiness, status, models, capabilities }: FoundServer): string {
  switch (readiness) {
    case "loading":
      return "loading its model";
    case "needs-credentials":
      return `requires credentials (${status})`;
    case "down":
      return "down";
    case "ready":
    case "wrong-model":
      break;
  }
  if (models === undefined && capabilities != null) {
    return `lists no models; can serve ${servedWords(capabilities).join(", ")}`;
  }
  if (models === undefined) return `does not list its models (${status})`;
  if (models.length === 0) return "no models";
  return modelsText(models);
}

const timeoutMs = 1_500;

/**
 * What a llama-server reports about its slots, such as `2 slots, 1 busy`; undefined for every other server.
 *
 * A sleeping server is not queried for busy slots, since that would load its model.
 */
export async function slotsText(
  context: CliContext,
  endpoint: string,
  headers: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  const check = checkEndpoint(endpoint);
  if (!check.ok) return undefined;
  const root = serverRoot(check.baseUrl);
  const props = await getJson(context, urlBelow(root, "/props"), headers);
  const slots = (props as { total_slots?: unknown } | undefined)?.total_slots;
  if (!Number.isInteger(slots)) return undefined;
  const { endpoint_slots: hasList, is_sleeping: isAsleep } = props as Record<string, unknown>;
  const all = `${String(slots)} ${slots === 1 ? "slot" : "slots"}`;
  if (isAsleep === true) return `${all}, sleeping`;
  const list =
    hasList === true ? await getJson(context, urlBelow(root, "/slots"), headers) : undefined;
  if (!Array.isArray(list)) return all;
  const busy = list.filter((slot: { is_processing?: unknown } | null) => {
    return slot?.is_processing === true;
  });
  return `${all}, ${busy.length} busy`;
}

/** @returns undefined when there is no JSON response */
async function getJson(
  { fetch, world }: CliContext,
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<unknown> {
  try {
    const response = await fetch(url, {
      headers: { accept: "application/json", ...headers },
      redirect: "error",
      signal: timeoutSignal(world, timeoutMs),
    });
    return response.ok ? await response.json() : undefined;
  } catch {
    // Not a llama-server, so there are no slots to show.
    return undefined;
  }
}
