import type { ServerProgram } from "./fingerprints.ts";

/** What a response to `GET {base}/models` gives away. */
export interface ModelsResponse {
  headers: Readonly<Record<string, string>>;
  /** the list with what is around it */
  body: Readonly<Record<string, unknown>>;
  first: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Headers of gateways. LiteLLM and Portkey set theirs on what they relay, errors included (BerriAI/litellm#16986,
 * `updateHeaders` in Portkey-AI/gateway), one-api and new-api on every response (`middleware/request-id.go`,
 * `X-New-Api-Version`).
 */
const gatewayHeader = /^x-(?:litellm|portkey|oneapi|new-api)-/;

export function isFromGateway(headers: Readonly<Record<string, string>>): boolean {
  return Object.keys(headers).some((name) => gatewayHeader.test(name));
}

const ownedBy =
  (owner: string) =>
  ({ first }: ModelsResponse): boolean =>
    first?.["owned_by"] === owner;

/** Gateways first: they copy `owned_by` from the server behind them. */
const signs: readonly [ServerProgram, (response: ModelsResponse) => boolean][] = [
  ["gateway", ({ headers }) => isFromGateway(headers)],
  // Bifrost: `BifrostListModelsResponse` in maximhq/bifrost.
  ["gateway", ({ body }) => isObject(body["extra_fields"])],
  // Another hub's list: a participant's entry has what it serves.
  ["gateway", ({ first }) => isObject(first?.["service"]) && isObject(first["connection"])],
  ["Ollama", ownedBy("library")],
  ["LM Studio", ownedBy("organization_owner")],
  ["llama.cpp", ownedBy("llamacpp")],
  ["llama.cpp", ({ headers }) => headers["server"] === "llama.cpp"],
  ["SGLang", ownedBy("sglang")],
  ["vLLM", ownedBy("vllm")],
  // `ModelCard` in tensorrt_llm/serve/openai_protocol.py and in lmdeploy/serve/openai/protocol.py.
  ["TensorRT-LLM", ownedBy("tensorrt_llm")],
  ["LMDeploy", ownedBy("lmdeploy")],
  // The model is its own owner: huggingface/text-generation-inference#2433.
  ["TGI", ({ first }) => typeof first?.["id"] === "string" && first["owned_by"] === first["id"]],
  // Python's own server, and entries without an owner: `handle_models_request` in mlx_lm/server.py.
  [
    "mlx-lm",
    ({ headers, first }) =>
      headers["server"]?.startsWith("BaseHTTP/") === true &&
      first !== undefined &&
      !("owned_by" in first),
  ],
];

/** The program that a models list gives away; undefined when it does not. */
export function listedProgram(response: ModelsResponse): ServerProgram | undefined {
  return signs.find(([, isSeenIn]) => isSeenIn(response))?.[0];
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
