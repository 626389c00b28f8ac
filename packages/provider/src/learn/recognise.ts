import { isCloudApi } from "./cloud-hosts.ts";
import {
  type Fingerprint,
  fingerprints,
  openai,
  type ServedPath,
  type ServerProgram,
} from "./fingerprints.ts";
import type { KnownCapabilities } from "./known-capabilities.ts";
import { type Query, objectIn } from "./query.ts";
import type { ProbeResult } from "./probe.ts";

/** What a server's own words say of it. */
export interface Recognised {
  program: ServerProgram | undefined;
  capabilities: KnownCapabilities;
  /** Its model is unloaded until the next request, and any `POST` counts as one. */
  isAsleep: boolean;
  /** its description of itself */
  description: Record<string, unknown> | undefined;
}

/**
 * What is known of the program that serves a base URL. As few requests as possible, since other programs log what they do
 * not know: none where the host identifies it, one where the models list gave the program away, else each fingerprint until
 * one fits, the one of the usual port first.
 */
export async function recognise(
  baseUrl: string,
  found: Pick<ProbeResult, "ownedBy" | "server">,
  look: Query,
): Promise<Recognised> {
  const { hostname, port } = new URL(baseUrl);
  if (hostname === "api.openai.com") {
    return { ...undescribed, program: "OpenAI", capabilities: { ...openai } };
  }
  if (isCloudApi(baseUrl)) return { ...undescribed, program: "cloud", capabilities: {} };
  const root = baseUrl.replace(/\/v1$/, "");
  const served: ServedPath = (path) => baseUrl.slice(root.length) + path;
  const certain = fingerprints.find((one) => isNamed(one, found));
  for (const path of certain === undefined ? pathsFor(port) : [certain.path]) {
    const description = objectIn((await look("GET", root, path))?.body ?? Buffer.alloc(0));
    const recognised = description && read(description, path, served);
    if (recognised !== undefined) return recognised;
  }
  return { ...undescribed, program: certain?.program, capabilities: { ...certain?.always } };
}

/** The one of the usual port first, each once. */
function pathsFor(port: string): Set<string> {
  const likelyFirst = fingerprints.toSorted((a, b) => rank(a, port) - rank(b, port));
  return new Set(likelyFirst.map(({ path }) => path));
}

/** Goes by the description alone: gateways copy `owned_by` from the server behind them. */
function read(
  description: Record<string, unknown>,
  path: string,
  served: ServedPath,
): Recognised | undefined {
  for (const one of fingerprints) {
    if (one.path !== path || one.isOwn?.(description) === false) continue;
    const known = one.read(description, served);
    if (known === undefined) continue;
    const isAsleep = one.isAsleep?.(description) ?? false;
    return { program: one.program, capabilities: { ...known }, isAsleep, description };
  }
  return undefined;
}

/** The program that a models list gives away by itself; undefined when it does not. */
export function programOf(
  found: Pick<ProbeResult, "ownedBy" | "server">,
): ServerProgram | undefined {
  return fingerprints.find((one) => isNamed(one, found))?.program;
}

const undescribed = { isAsleep: false, description: undefined } as const;

function isNamed(one: Fingerprint, { ownedBy, server }: Pick<ProbeResult, "ownedBy" | "server">) {
  const isOwner = one.ownedBy !== undefined && ownedBy === one.ownedBy;
  return isOwner || (one.server !== undefined && server === one.server);
}

function rank(one: Fingerprint, port: string): number {
  return one.port === port ? 0 : 1;
}
