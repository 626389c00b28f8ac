import { LLAMA_MODEL, llamaRecording } from "../../support/providers/recorded-llama.ts";
import type { ProviderShape, RecordedAnswer } from "./provider-shape.ts";
import { SCRIPT } from "./script.ts";

/** Reasoning in `reasoning`, a tool call in one piece, Go's plain 404. Responses without state since 0.13.3. */
export const ollama: ProviderShape = {
  name: "Ollama 0.33",
  recordings: "ollama",
  model: "qwen3:8b",
  says: SCRIPT,
  surfaces: ["chat/completions", "responses", "messages", "embeddings"],
  fingerprints: "fingerprints",
  server: undefined,
  lineEnd: "\n",
  chatUsage: "when-asked",
  thoughtField: "reasoning",
  unknownPath: () => ({ status: 404, body: "404 page not found" }),
  emptyBody: openaiError(400, "model is required", null),
  refusal: openaiError(400, "the input length exceeds the context length", null),
};

/** Responds 200 to paths it does not have, and its errors are plain texts. Stores responses. */
const lmStudio: ProviderShape = {
  name: "LM Studio 0.4.1",
  recordings: "lm-studio",
  model: "qwen/qwen3-8b",
  says: SCRIPT,
  surfaces: ["chat/completions", "responses", "messages", "embeddings"],
  fingerprints: "fingerprints",
  server: undefined,
  lineEnd: "\r\n",
  chatUsage: "when-asked",
  thoughtField: "reasoning_content",
  unknownPath: (method, path) => ({
    status: 200,
    body: { error: `Unexpected endpoint or method. (${method} ${path})` },
  }),
  emptyBody: { status: 400, body: { error: "'messages' field is required" } },
  refusal: {
    status: 400,
    body: {
      error:
        "Trying to keep the first 9120 tokens when context the overflows. However, the model is loaded with context length of only 8192 tokens.",
    },
  },
};

/** Numbers as error codes, `timings`, tool calls without ids, events without sequence numbers. */
const llamaCpp: ProviderShape = {
  name: "llama.cpp b7083",
  recordings: "llama-cpp",
  model: "Qwen3-8B-Q4_K_M.gguf",
  says: SCRIPT,
  surfaces: ["chat/completions", "responses", "messages", "messages/count_tokens", "embeddings"],
  fingerprints: "fingerprints",
  server: "llama.cpp",
  lineEnd: "\n",
  chatUsage: "on-the-finish-chunk",
  thoughtField: "reasoning_content",
  unknownPath: () => llamaError(404, "File Not Found", "not_found_error"),
  emptyBody: llamaError(400, "'messages' is required", "invalid_request_error"),
  refusal: llamaError(
    400,
    "request (9120 tokens) exceeds the available context size (8192 tokens), try increasing it",
    "exceed_context_size_error",
  ),
};

/** A real llama-server v0.5.0, as recorded: responses without sequence numbers and indexes, `timings`, readable slots. */
export const llamaServer: ProviderShape = {
  name: "llama.cpp 0.5.0",
  recordings: "llama-server",
  model: LLAMA_MODEL,
  says: { ...SCRIPT, firstWords: "Ta", usage: { inputTokens: 15, outputTokens: 49 } },
  surfaces: ["chat/completions", "responses", "messages", "messages/count_tokens"],
  fingerprints: "fingerprints",
  server: "llama.cpp",
  lineEnd: "\n",
  chatUsage: "when-asked",
  thoughtField: "reasoning_content",
  unknownPath: () => llamaError(404, "File Not Found", "not_found_error"),
  emptyBody: recordedAnswer("chat-empty"),
  refusal: recordedAnswer("error-overflow"),
  messagesRefusal: recordedAnswer("error-overflow"),
};

/** FastAPI's 404, errors with a number as code. */
export const vllm: ProviderShape = {
  name: "vLLM 0.32",
  recordings: "vllm",
  model: "Qwen/Qwen3-8B",
  says: SCRIPT,
  surfaces: ["chat/completions", "responses", "messages", "messages/count_tokens", "embeddings"],
  fingerprints: "fingerprints",
  server: "uvicorn",
  lineEnd: "\n",
  chatUsage: "when-asked",
  thoughtField: "reasoning_content",
  unknownPath: () => ({ status: 404, body: { detail: "Not Found" } }),
  emptyBody: {
    status: 400,
    body: {
      error: {
        message: "[{'type': 'missing', 'loc': ('body', 'messages'), 'msg': 'Field required'}]",
        type: "Bad Request",
        param: null,
        code: 400,
      },
    },
  },
  refusal: {
    status: 400,
    body: {
      error: {
        message:
          "This model's maximum context length is 40960 tokens. However, your request has 91200 input tokens.",
        type: "BadRequestError",
        param: "input_tokens",
        code: 400,
      },
    },
  },
};

/** `usage: null` on every chunk when usage was requested, padding against eavesdroppers, reasoning only in responses. */
const openai: ProviderShape = {
  name: "OpenAI",
  recordings: "openai",
  model: "gpt-5-mini-2025-08-07",
  says: SCRIPT,
  surfaces: ["chat/completions", "responses", "embeddings"],
  fingerprints: "fingerprints",
  server: "cloudflare",
  lineEnd: "\n",
  chatUsage: "when-asked",
  thoughtField: undefined,
  unknownPath: (method, path) => openaiError(404, `Invalid URL (${method} ${path})`, null),
  emptyBody: openaiError(400, "you must provide a model parameter", null),
  refusal: openaiError(
    400,
    "This model's maximum context length is 272000 tokens. Please reduce the length of the messages.",
    "context_length_exceeded",
  ),
};

export const SHAPES = [ollama, lmStudio, llamaCpp, llamaServer, vllm, openai] as const;

/** A server of the same kind before it had `/responses`: what the hub has to translate for. */
export function withoutResponses(shape: ProviderShape): ProviderShape {
  return {
    ...shape,
    name: `${shape.name}, before it had /responses`,
    surfaces: shape.surfaces.filter((surface) => !/^(?:responses|messages)/.test(surface)),
    fingerprints: "fingerprints-before-responses",
  };
}

function openaiError(status: number, message: string, code: string | null) {
  const type = "invalid_request_error";
  return { status, body: { error: { message, type, param: null, code } } };
}

function recordedAnswer(name: string): RecordedAnswer {
  const { status, body } = llamaRecording(name);
  return { status, body: body.toString("utf8") };
}

function llamaError(code: number, message: string, type: string) {
  return { status: code, body: { error: { code, message, type } } };
}
