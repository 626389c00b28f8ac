import { type JsonObject, serverRoot } from "@roomhub/protocol";
import {
  type Fingerprint,
  fingerprints,
  openai,
  type ServedPath,
  type ServerProgram,
  whisperCpp,
} from "./fingerprints.ts";
import type { KnownCapabilities } from "./known-capabilities.ts";
import { objectIn, type Question, type QueryResult } from "./query.ts";
import type { ProbeResult } from "./probe.ts";

/** Sends one query at a time. @returns undefined when no more are sent, or the response is not whole */
export type Look = (question: Question) => Promise<QueryResult | undefined>;

/** What a server's description of itself shows. */
export interface Recognised {
  program: ServerProgram | undefined;
  capabilities: KnownCapabilities;
  /** Its model is unloaded until the next request, and any `POST` counts as one. */
  isAsleep: boolean;
  /** its description of itself */
  description: JsonObject | undefined;
}

/**
 * Recognises the program that serves a base URL. Sends as few requests as possible, since programs log requests for unknown
 * paths: none if the host identifies it, one if the models list does, else each fingerprint until one fits, that of the
 * usual port first.
 */
export async function recognise(
  baseUrl: string,
  found: Pick<ProbeResult, "program">,
  look: Look,
): Promise<Recognised> {
  const { hostname, port } = new URL(baseUrl);
  if (hostname === "api.openai.com") {
    return { ...undescribed, program: "OpenAI", capabilities: { ...openai } };
  }
  if (isCloudApi(baseUrl)) return { ...undescribed, program: "cloud", capabilities: {} };
  const root = serverRoot(baseUrl);
  const served: ServedPath = (path) => (root === baseUrl ? path : `/v1${path}`);
  if (found.program === "gateway") return { ...undescribed, program: "gateway", capabilities: {} };
  if (found.program === "whisper.cpp") {
    const page = (await look({ baseUrl: root, path: "/" }))?.body.toString("utf8") ?? "";
    // Started with `--inference-path`, it takes transcriptions where others do, and nothing else.
    const isUsual = page.includes(`action="${served("/audio/transcriptions")}"`);
    const program = isUsual ? undefined : found.program;
    const audioTranslations = isUsual ? "unsupported" : "supported";
    return { ...undescribed, program, capabilities: { ...whisperCpp, audioTranslations } };
  }
  const listed = fingerprints.find(
    ({ program }) => program !== undefined && program === found.program,
  );
  for (const path of pathsFor(port, listed)) {
    const description = objectIn((await look({ baseUrl: root, path }))?.body ?? Buffer.alloc(0));
    const recognised = description && read(description, path, served);
    if (recognised !== undefined) return recognised;
  }
  const certain = listed?.isConfirmation === true ? undefined : listed;
  return { ...undescribed, program: certain?.program, capabilities: { ...certain?.always } };
}

/** Only that of the listed program if it needs no confirmation; else each path once, that of the usual port first. */
function pathsFor(port: string, listed: Fingerprint | undefined): Set<string> {
  const isEnough = listed !== undefined && listed.isConfirmation !== true;
  const others = isEnough ? [] : fingerprints.filter((one) => one.isConfirmation !== true);
  const likelyFirst = others.toSorted((a, b) => rank(a, port) - rank(b, port));
  return new Set(
    [...(listed === undefined ? [] : [listed]), ...likelyFirst].map((one) => one.path),
  );
}

/** By the description alone: gateways copy `owned_by` from the server behind them. */
function read(description: JsonObject, path: string, served: ServedPath): Recognised | undefined {
  for (const one of fingerprints) {
    if (one.path !== path || one.isOwn?.(description) === false) continue;
    const known = one.read(description, served);
    if (known === undefined) continue;
    const isAsleep = one.isAsleep?.(description) ?? false;
    return { program: one.program, capabilities: { ...known }, isAsleep, description };
  }
  return undefined;
}

const undescribed = { isAsleep: false, description: undefined } as const;

function rank(one: Fingerprint, port: string): number {
  return one.port === port ? 0 : 1;
}

/** Inference APIs that many clients share, by their host. */
const hosts: ReadonlySet<string> = new Set([
  "api.anthropic.com",
  "api.cerebras.ai",
  "api.cohere.ai",
  "api.cohere.com",
  "api.deepinfra.com",
  "api.deepseek.com",
  "api.fireworks.ai",
  "api.groq.com",
  "api.hyperbolic.xyz",
  "api.mistral.ai",
  "api.moonshot.ai",
  "api.novita.ai",
  "api.openai.com",
  "api.perplexity.ai",
  "api.sambanova.ai",
  "api.together.ai",
  "api.together.xyz",
  "api.x.ai",
  "api.z.ai",
  "generativelanguage.googleapis.com",
  "integrate.api.nvidia.com",
  "openrouter.ai",
  "router.huggingface.co",
]);

/** Hosts of one customer each. */
const customerHost =
  /\.(?:openai\.azure\.com|services\.ai\.azure\.com|endpoints\.huggingface\.cloud)$|^bedrock-runtime\.[\w-]+\.amazonaws\.com$|^[\w-]*aiplatform\.googleapis\.com$/;

/** Whether a base URL is that of a public inference API. By its name alone: no request is sent. */
function isCloudApi(baseUrl: string): boolean {
  const { protocol, hostname } = new URL(baseUrl);
  return protocol === "https:" && (hosts.has(hostname) || customerHost.test(hostname));
}
