import { isObject, type JsonObject, urlBelow } from "@roomhub/protocol";
import type { ServerProgram } from "./fingerprints.ts";
import { type QueriedServer, type QueryResult, query, objectIn } from "./query.ts";

/** What a look at `GET {base}/models` found. */
export interface ProbeResult {
  /** any HTTP response counts */
  answered: boolean;
  status?: number;
  /** no response in time: the server may be loading a model */
  isTimeout?: boolean;
  /** after a timeout: the server took the connection, so it may be busy */
  isAccepted?: boolean;
  /** ids, when the response was a models list */
  models?: string[];
  /** other names of the same models, which llama.cpp lists; absent when there are none */
  aliases?: string[];
  /** names of the models that are loaded now, where the list says so: llama.cpp's router does */
  loaded?: string[];
  /** what it lists, with all that it says of each model; for the look that follows */
  entries?: readonly JsonObject[];
  /** the program that the list identifies */
  program?: ServerProgram;
  /** for display: why there was no response, or the error in it */
  problem?: string;
}

const maxProblemLength = 300;

interface ListedModel extends Record<string, unknown> {
  id?: unknown;
  aliases?: unknown;
  status?: { value?: unknown } | null;
}

/** Requests the model list of a provider. Never throws, never loads a model. */
export async function probeModels(server: QueriedServer, timeoutMs: number): Promise<ProbeResult> {
  const look = await query(server, { path: "/models" }, timeoutMs);
  return { ...headOf(look), ...bodyOf(look, server.baseUrl, timeoutMs) };
}

function headOf({ head }: QueryResult): ProbeResult {
  if (head === undefined) return { answered: false };
  return { answered: true, status: head.status };
}

function bodyOf(look: QueryResult, baseUrl: string, timeoutMs: number): Partial<ProbeResult> {
  switch (look.problem?.kind) {
    case "timeout":
      return {
        isTimeout: true,
        isAccepted: look.problem.isAccepted,
        problem: `no response to GET ${urlBelow(baseUrl, "/models")} within ${timeoutMs / 1_000} s`,
      };
    case "too-large":
      return { problem: "the models list is larger than 1 MiB" };
    case "failed":
      return { problem: look.problem.failure.message };
    case undefined:
      return readModels(look);
  }
}

function readModels({ body, head }: QueryResult): Partial<ProbeResult> {
  const { status = 0, headers = {} } = head ?? {};
  const value = objectIn(body);
  const complaint = value?.["error"];
  if (complaint !== undefined && complaint !== null) {
    return { problem: `GET /models returned ${status} with an error: ${textOf(complaint)}` };
  }
  if (status >= 300) {
    const isWhisper = headers["server"] === "whisper.cpp";
    return {
      problem: `GET /models returned ${status}`,
      // It lists no models, and says who it is with every response.
      ...(isWhisper ? { program: "whisper.cpp" } : {}),
    };
  }
  const data = value?.["data"];
  if (value === undefined || !Array.isArray(data)) {
    return { problem: "GET /models did not return a models list" };
  }
  // Never cut short: the participant's model would seem to be missing.
  const entries = data as (ListedModel | null)[];
  const program = listedProgram({ headers, body: value, first: entries[0] ?? undefined });
  const aliases = texts(entries.flatMap((entry) => entry?.aliases ?? []));
  return {
    models: texts(entries.map((entry) => entry?.id)),
    entries: entries.filter(isObject),
    ...(aliases.length === 0 ? {} : { aliases }),
    ...loadedIn(entries),
    ...(program === undefined ? {} : { program }),
  };
}

function loadedIn(entries: (ListedModel | null)[]): Pick<ProbeResult, "loaded"> {
  if (!entries.some((entry) => typeof entry?.status?.value === "string")) return {};
  const loaded = entries.filter((entry) => entry?.status?.value === "loaded");
  return { loaded: texts(loaded.flatMap((entry) => [entry?.id, entry?.aliases ?? []].flat())) };
}

function texts(values: unknown[]): string[] {
  return values.filter((value) => typeof value === "string");
}

function textOf(complaint: unknown): string {
  const message = isObject(complaint) && "message" in complaint ? complaint["message"] : complaint;
  const text = typeof message === "string" ? message : "without a message";
  return text.slice(0, maxProblemLength);
}

/** What in a response to `GET {base}/models` identifies the program. */
interface ModelsResponse {
  headers: Readonly<Record<string, string>>;
  /** the list with what is around it */
  body: JsonObject;
  first: JsonObject | undefined;
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

/** The program that a models list identifies, if any. */
function listedProgram(response: ModelsResponse): ServerProgram | undefined {
  return signs.find(([, isSeenIn]) => isSeenIn(response))?.[0];
}
