import type { CapabilityValue } from "@roomhub/protocol";
import type { KnownCapabilities } from "./known-capabilities.ts";
import { type Query, objectIn } from "./query.ts";
import type { ProbeResult } from "./probe.ts";

/** Programs that are recognised. */
export type ServerProgram = "Ollama" | "LM Studio" | "llama.cpp" | "vLLM" | "OpenAI";

/** What a server's own words say of it. */
export interface Recognised {
  program: ServerProgram | undefined;
  capabilities: KnownCapabilities;
  /** Its model is unloaded until the next request, and any `POST` counts as one. */
  isAsleep: boolean;
  /** its description of itself */
  description: Record<string, unknown> | undefined;
}

/** One program that serves models, and how it is recognised. */
interface Fingerprint {
  program: ServerProgram;
  /** its `owned_by` in models lists */
  ownedBy: string;
  /** its `server` header, where that is its own */
  server: string | undefined;
  /** where it usually listens */
  port: string;
  /** read by GET, below the base URL without its `/v1` */
  path: string;
  /** @returns undefined when another program responds so */
  read: (description: Record<string, unknown>, served: ServedPath) => KnownCapabilities | undefined;
  /** What holds for every version, when `ownedBy` or `server` identified it and the path did not respond. */
  always: KnownCapabilities;
  /** The response says that its model is unloaded for now. */
  isAsleep?: (description: Record<string, unknown>) => boolean;
}

/** A surface as the server's own listing of paths would have it. */
type ServedPath = (path: string) => string;

/** What those have that do not list their paths, whatever their version. */
const usual: KnownCapabilities = {
  chatCompletions: "supported",
  completions: "supported",
  streamUsage: "supported",
};

const ollama: Fingerprint = {
  program: "Ollama",
  ownedBy: "library",
  server: undefined,
  port: "11434",
  path: "/api/version",
  read(description) {
    const { version, ...others } = description;
    if (typeof version !== "string" || Object.keys(others).length > 0) return undefined;
    return { ...ollama.always, ...ollamaSince(version) };
  },
  // `previous_response_id` is not in its request: ignored without a word.
  always: { ...usual, embeddings: "supported", storedResponses: "unsupported" },
};

/** A build of one's own calls itself 0.0.0, which says nothing. */
function ollamaSince(version: string): KnownCapabilities {
  const [major = 0, minor = 0, patch = 0] = version.split(/[.-]/).map(Number);
  const number = major * 1_000_000 + minor * 1_000 + patch;
  if (!(number > 0)) return {};
  const since = (first: number): CapabilityValue => (number >= first ? "supported" : "unsupported");
  return { openResponses: since(13_003), messages: since(14_000) };
}

const lmStudio: Fingerprint = {
  program: "LM Studio",
  ownedBy: "organization_owner",
  server: undefined,
  port: "1234",
  path: "/api/v1/models",
  read({ models, error }) {
    // Before 0.4 there is no such path, and this is how it says so, with status 200.
    if (typeof error === "string") {
      return /unexpected endpoint/i.test(error) ? lmStudio.always : undefined;
    }
    if (!Array.isArray(models) || !(models as unknown[]).every(isLmStudioModel)) return undefined;
    return { ...lmStudio.always, openResponses: "supported", storedResponses: "supported" };
  },
  always: { ...usual, embeddings: "supported" },
};

function isLmStudioModel(model: unknown): boolean {
  return typeof model === "object" && model !== null && "loaded_instances" in model;
}

const llamaCpp: Fingerprint = {
  program: "llama.cpp",
  ownedBy: "llamacpp",
  server: "llama.cpp",
  port: "8080",
  path: "/props",
  read(description) {
    if (typeof description["default_generation_settings"] !== "object") return undefined;
    // Builds with a number have `timings` on the last chunk; `stream_options` would move them to the usage chunk.
    const hasTimings = typeof description["build_info"] === "string";
    return { ...llamaCpp.always, ...(hasTimings ? { implicitUsage: "supported" } : {}) };
  },
  // Embeddings only when it was started for them; the other surfaces depend on the build.
  always: { ...usual, storedResponses: "unsupported" },
  isAsleep: (description) => description["is_sleeping"] === true,
};

const vllm: Fingerprint = {
  program: "vLLM",
  ownedBy: "vllm",
  server: undefined,
  port: "8000",
  path: "/openapi.json",
  read({ paths }, served) {
    if (typeof paths !== "object" || paths === null) return undefined;
    const listed = (path: string): CapabilityValue =>
      served(path) in paths ? "supported" : "unsupported";
    if (listed("/chat/completions") === "unsupported") return undefined;
    const surfaces: KnownCapabilities = {
      chatCompletions: "supported",
      openResponses: listed("/responses"),
      completions: listed("/completions"),
      embeddings: listed("/embeddings"),
      messages: listed("/messages"),
      responsesCompact: listed("/responses/compact"),
      responsesInputTokens: listed("/responses/input_tokens"),
    };
    // Others are built with the same framework and list their paths too.
    const isVllm = "/tokenize" in paths && "/version" in paths;
    return isVllm ? { ...surfaces, ...vllm.always } : surfaces;
  },
  // It keeps responses only when an environment variable says so; the person who set it can declare it.
  always: {
    chatCompletions: "supported",
    streamUsage: "supported",
    storedResponses: "unsupported",
  },
};

const fingerprints: readonly Fingerprint[] = [ollama, lmStudio, llamaCpp, vllm];

const openai: KnownCapabilities = {
  ...usual,
  openResponses: "supported",
  embeddings: "supported",
  messages: "unsupported",
  storedResponses: "supported",
  responsesCompact: "supported",
  responsesInputTokens: "supported",
};

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
  const root = baseUrl.replace(/\/v1$/, "");
  const served: ServedPath = (path) => baseUrl.slice(root.length) + path;
  const certain = fingerprints.find((one) => isNamed(one, found));
  const likelyFirst = fingerprints.toSorted((a, b) => rank(a, port) - rank(b, port));
  for (const one of certain === undefined ? likelyFirst : [certain]) {
    const description = objectIn((await look("GET", root, one.path))?.body ?? Buffer.alloc(0));
    const known = description === undefined ? undefined : one.read(description, served);
    if (description === undefined || known === undefined) continue;
    const isAsleep = one.isAsleep?.(description) ?? false;
    return { program: one.program, capabilities: { ...known }, isAsleep, description };
  }
  return { ...undescribed, program: certain?.program, capabilities: { ...certain?.always } };
}

/** The program that a models list gives away by itself; undefined when it does not. */
export function programOf(
  found: Pick<ProbeResult, "ownedBy" | "server">,
): ServerProgram | undefined {
  return fingerprints.find((one) => isNamed(one, found))?.program;
}

const undescribed = { isAsleep: false, description: undefined } as const;

function isNamed(one: Fingerprint, { ownedBy, server }: Pick<ProbeResult, "ownedBy" | "server">) {
  return ownedBy === one.ownedBy || (one.server !== undefined && server === one.server);
}

function rank(one: Fingerprint, port: string): number {
  return one.port === port ? 0 : 1;
}
