import { type CapabilityValue, isObject, type JsonObject, SURFACES } from "@roomhub/protocol";
import type { KnownCapabilities } from "./known-capabilities.ts";

/**
 * Programs that are recognised. `cloud`: a public inference API other than OpenAI's. `gateway`: one that passes requests on
 * to servers behind it, as LiteLLM, Bifrost, Portkey, one-api and another hub do.
 */
export type ServerProgram =
  | "Ollama"
  | "LM Studio"
  | "llama.cpp"
  | "mlx-lm"
  | "vLLM"
  | "SGLang"
  | "TGI"
  | "TensorRT-LLM"
  | "LMDeploy"
  | "whisper.cpp"
  | "OpenAI"
  | "cloud"
  | "gateway";

/** One program that serves models, and how it is recognised. */
export interface Fingerprint {
  /** undefined for any program that describes itself at this path */
  program: ServerProgram | undefined;
  /** where it usually listens */
  port: string | undefined;
  /** read by GET, below the base URL without its `/v1` */
  path: string;
  /** Read only if the models list names this program; the program then needs this description to be recognised. */
  isConfirmation?: true;
  /** Whether the description is this program's, for a path that several programs have. */
  isOwn?: (description: JsonObject) => boolean;
  /** @returns undefined when another program responds so */
  read: (description: JsonObject, served: ServedPath) => KnownCapabilities | undefined;
  /** What holds for every version, when the models list identified it and the path did not respond. */
  always: KnownCapabilities;
  /** The response says that its model is unloaded for now. */
  isAsleep?: (description: JsonObject) => boolean;
}

/** A surface as the server's own listing of paths would have it. */
export type ServedPath = (path: string) => string;

/** What programs have that do not list their paths, whatever their version. */
const usual: KnownCapabilities = {
  chatCompletions: "supported",
  completions: "supported",
  streamUsage: "supported",
};

/** What a server that is for text does not have. */
const textAlone: KnownCapabilities = {
  rerank: "unsupported",
  audioSpeech: "unsupported",
  imageGenerations: "unsupported",
  imageEdits: "unsupported",
  audioTranscriptions: "unsupported",
  audioTranslations: "unsupported",
};

const ollama: Fingerprint = {
  program: "Ollama",
  port: "11434",
  path: "/api/version",
  read(description) {
    const { version, ...others } = description;
    if (typeof version !== "string" || Object.keys(others).length > 0) return undefined;
    return { ...ollama.always, ...ollamaSince(version) };
  },
  // It ignores `previous_response_id` silently.
  always: {
    ...usual,
    ...textAlone,
    // Newer versions paint.
    ...{ imageGenerations: "unknown", imageEdits: "unknown" },
    embeddings: "supported",
    storedResponses: "unsupported",
  },
};

/** A local build has the version 0.0.0, which says nothing. */
function ollamaSince(version: string): KnownCapabilities {
  const [major = 0, minor = 0, patch = 0] = version.split(/[.-]/).map(Number);
  const number = major * 1_000_000 + minor * 1_000 + patch;
  if (!(number > 0)) return {};
  const since = (first: number): CapabilityValue => (number >= first ? "supported" : "unsupported");
  return { openResponses: since(13_003), messages: since(14_000) };
}

const lmStudio: Fingerprint = {
  program: "LM Studio",
  port: "1234",
  path: "/api/v1/models",
  read({ models, error }) {
    // Before 0.4 it has no such path, and responds 200 with this error.
    if (typeof error === "string") {
      return /unexpected endpoint/i.test(error) ? lmStudio.always : undefined;
    }
    if (!Array.isArray(models) || !(models as unknown[]).every(isLmStudioModel)) return undefined;
    return { ...lmStudio.always, openResponses: "supported", storedResponses: "supported" };
  },
  always: { ...usual, ...textAlone, embeddings: "supported" },
};

function isLmStudioModel(model: unknown): boolean {
  return isObject(model) && "loaded_instances" in model;
}

const llamaCpp: Fingerprint = {
  program: "llama.cpp",
  port: "8080",
  path: "/props",
  read(description) {
    if (typeof description["default_generation_settings"] !== "object") return undefined;
    // Builds with a number have `timings` on the last chunk; `stream_options` would move them to the usage chunk.
    const hasTimings = typeof description["build_info"] === "string";
    const { modalities } = description;
    const hears = isObject(modalities) && modalities["audio"] === true;
    return {
      ...llamaCpp.always,
      ...(hasTimings ? { implicitUsage: "supported" } : {}),
      // Of those whose model hears, newer builds transcribe.
      ...(hears ? { audioTranscriptions: "unknown" } : {}),
    };
  },
  // Embeddings and reranking only when it was started for them; the other surfaces depend on the build.
  always: { ...usual, ...textAlone, rerank: "unknown", storedResponses: "unsupported" },
  isAsleep: (description) => description["is_sleeping"] === true,
};

/** Programs built with FastAPI list their paths. */
function readPaths({ paths }: JsonObject, served: ServedPath): KnownCapabilities | undefined {
  if (!isObject(paths)) return undefined;
  const listed = (path: string): CapabilityValue =>
    served(path) in paths ? "supported" : "unsupported";
  const known: KnownCapabilities = {};
  for (const { path, capability } of SURFACES) known[capability] ??= listed(`/${path}`);
  // Any program may have such a list: one that serves models has one of these.
  if (!Object.values(known).includes("supported")) return undefined;
  return "/v2/rerank" in paths ? { ...known, rerankV2: "supported" } : known;
}

function hasPaths({ paths }: JsonObject, ...names: string[]): boolean {
  return isObject(paths) && names.every((name) => name in paths);
}

/** A program that lists its paths; `isOwn` tells it from the others that do. */
function listed(
  program: ServerProgram | undefined,
  port: string | undefined,
  isOwn: (description: JsonObject) => boolean,
  always: KnownCapabilities = { chatCompletions: "supported" },
): Fingerprint {
  const read: Fingerprint["read"] = (description, served) => {
    const known = readPaths(description, served);
    return known && { ...always, ...known };
  };
  return { program, port, path: "/openapi.json", isOwn, read, always };
}

// Its path was renamed in 2025.
const sglang = listed(
  "SGLang",
  "30000",
  (description) => hasPaths(description, "/get_model_info") || hasPaths(description, "/model_info"),
  { chatCompletions: "supported", streamUsage: "supported" },
);

// It stores responses only if an environment variable is set; the user who sets it can declare it.
const vllm = listed(
  "vLLM",
  "8000",
  (description) => hasPaths(description, "/tokenize", "/version"),
  { chatCompletions: "supported", streamUsage: "supported", storedResponses: "unsupported" },
);

/** `/kv_cache_events` is in tensorrt_llm/serve/openai_server.py alone. */
const tensorRt = listed("TensorRT-LLM", "8000", (description) =>
  hasPaths(description, "/kv_cache_events"),
);

/** `/v1/encode` is in lmdeploy/serve/openai alone. */
const lmDeploy = listed("LMDeploy", "23333", (description) => hasPaths(description, "/v1/encode"));

/** LiteLLM has these paths beside the relayed ones. Its list is often over 1 MiB; then its headers identify it. */
const liteLlm = listed(
  "gateway",
  "4000",
  (description) => hasPaths(description, "/health/readiness", "/key/generate"),
  {},
);

/** `Info` in huggingface/text-generation-inference. */
const tgi: Fingerprint = {
  program: "TGI",
  port: undefined,
  path: "/info",
  isConfirmation: true,
  read({ model_id: model, max_concurrent_requests: most }) {
    return typeof model === "string" && typeof most === "number" ? tgi.always : undefined;
  },
  always: { chatCompletions: "supported" },
};

/** `handle_health_check` in mlx_lm/server.py. */
const mlxLm: Fingerprint = {
  program: "mlx-lm",
  port: undefined,
  path: "/health",
  isConfirmation: true,
  read({ status, ...others }) {
    return status === "ok" && Object.keys(others).length === 0 ? mlxLm.always : undefined;
  },
  always: { ...usual, ...textAlone },
};

const otherListing = listed(undefined, undefined, () => true, {});

/** Of several with the same path, the first one that recognises the description counts. */
export const fingerprints: readonly Fingerprint[] = [
  ollama,
  lmStudio,
  llamaCpp,
  mlxLm,
  tgi,
  sglang,
  tensorRt,
  lmDeploy,
  liteLlm,
  vllm,
  otherListing,
];

/** It has neither a list of models nor one of paths. */
export const whisperCpp: KnownCapabilities = {
  ...textAlone,
  openResponses: "unsupported",
  chatCompletions: "unsupported",
  completions: "unsupported",
  embeddings: "unsupported",
  messages: "unsupported",
  audioTranscriptions: "supported",
  audioTranslations: "supported",
};

export const openai: KnownCapabilities = {
  ...usual,
  openResponses: "supported",
  embeddings: "supported",
  messages: "unsupported",
  storedResponses: "supported",
  responsesCompact: "supported",
  responsesInputTokens: "supported",
  rerank: "unsupported",
  audioSpeech: "supported",
  imageGenerations: "supported",
  imageEdits: "supported",
  audioTranscriptions: "supported",
  audioTranslations: "supported",
};
