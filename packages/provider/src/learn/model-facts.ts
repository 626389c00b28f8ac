import {
  type CapabilityValue,
  type ContextSource,
  Features,
  isSameModel,
  type JsonObject,
  type ModelContext,
} from "@roomhub/protocol";
import { fieldsOf, textOf } from "../translation/chat/provider-field.ts";
import type { ServerProgram } from "./fingerprints.ts";

/** What one response of a model server says of a model. What it does not say is absent. */
export interface ModelFacts {
  contexts: Partial<Record<ContextSource, number>>;
  features: Partial<Features>;
}

/** How a program's contexts count, whatever their size. */
export const contextRules: Partial<
  Record<ServerProgram, Pick<ModelContext, "countsMaxTokens" | "mayTruncate">>
> = {
  // `_validate_input` in vllm/entrypoints/openai refuses `max_tokens` that do not fit behind the prompt.
  vLLM: { countsMaxTokens: true },
  // `chatPrompt` in ollama/server drops the oldest messages until the rest fits.
  Ollama: { mayTruncate: true },
  TGI: { countsMaxTokens: true },
};

/** What holds for each program, whatever its model: from recordings and manuals. */
export const programFeatures: Partial<Record<ServerProgram, Partial<Features>>> = {
  "llama.cpp": { structuredOutput: "enforced", logprobs: "supported" },
  "LM Studio": { structuredOutput: "enforced" },
  vLLM: { structuredOutput: "enforced", logprobs: "supported" },
  SGLang: { structuredOutput: "enforced", logprobs: "supported" },
  // `handle_chat_completions` in mlx_lm/server.py reads no `response_format`, and its models take text alone.
  "mlx-lm": { structuredOutput: "ignored", vision: "unsupported", logprobs: "supported" },
  OpenAI: { structuredOutput: "enforced", tools: "supported" },
};

/**
 * An entry of `GET {base}/models`. vLLM and SGLang have `max_model_len`, llama.cpp `meta`, OpenRouter `context_length`,
 * Groq `context_window`, Mistral `max_context_length`.
 */
export function factsInEntry(entry: JsonObject): ModelFacts {
  const { n_ctx: loaded, n_ctx_train: trained } = fieldsOf(entry["meta"]);
  const { context_length: ofProvider } = fieldsOf(entry["top_provider"]);
  const names = ["max_model_len", "context_length", "context_window", "max_context_length"];
  const listed = names.map((name) => entry[name]).find((value) => value !== undefined);
  // OpenRouter's model may have a larger context than the provider that requests go to first.
  const configured = [listed, ofProvider].flatMap((value) => tokensIn(value) ?? []);
  return {
    contexts: contextsOf({
      loaded,
      configured: configured.length === 0 ? undefined : Math.min(...configured),
      trained,
    }),
    features: { ...openRouterFeatures(entry), ...hubFeatures(entry) },
  };
}

/** `supported_parameters`: a parameter that is not among them is ignored. */
function openRouterFeatures(entry: JsonObject): Partial<Features> {
  const { supported_parameters: parameters } = entry;
  const { input_modalities: modalities } = fieldsOf(entry["architecture"]);
  const vision = { vision: Array.isArray(modalities) ? has(modalities, "image") : undefined };
  if (!Array.isArray(parameters)) return known(vision);
  return known({
    ...vision,
    tools: has(parameters, "tools"),
    reasoning: has(parameters, "reasoning"),
    logprobs: has(parameters, "logprobs"),
    // Which of several providers gets the request decides whether the schema holds.
    structuredOutput: parameters.includes("structured_outputs") ? "best-effort" : "ignored",
  });
}

/** Another hub says of its participants what it knows. */
function hubFeatures(entry: JsonObject): Partial<Features> {
  return Features.partial().safeParse(fieldsOf(entry["service"])["features"]).data ?? {};
}

/**
 * What a program says at the paths that are its own: llama.cpp in `/props`, Ollama in `/api/ps` and `/api/show`, LM Studio
 * in its list of models, TGI in `/info`.
 *
 * @param model - the participant's
 */
export function factsIn(
  program: ServerProgram | undefined,
  response: JsonObject,
  model: string,
): ModelFacts | undefined {
  switch (program) {
    case "llama.cpp":
      return llamaFacts(response);
    case "Ollama":
      return "model_info" in response ? shownFacts(response) : runningFacts(response, model);
    case "LM Studio":
      return lmStudioFacts(response, model);
    case "TGI":
      return { contexts: contextsOf({ configured: response["max_total_tokens"] }), features: {} };
    default:
      return undefined;
  }
}

/** Of `GET /props`; `n_ctx` is of one slot. */
function llamaFacts(props: JsonObject): ModelFacts {
  const { supports_tools: takesTools } = fieldsOf(props["chat_template_caps"]);
  const { vision } = fieldsOf(props["modalities"]);
  const reasons = /<think>|reasoning_content|enable_thinking|<\|channel\|>/;
  const template = textOf(props["chat_template"]);
  return {
    contexts: contextsOf({ loaded: fieldsOf(props["default_generation_settings"])["n_ctx"] }),
    features: known({
      // A template without tools gets a general form of them, which says nothing of the model.
      tools: takesTools === true ? "supported" : undefined,
      vision: flag(vision),
      reasoning: template === "" ? undefined : flag(reasons.test(template)),
    }),
  };
}

/** Of `POST /api/show`. `parameters` is the text of a Modelfile. */
function shownFacts(shown: JsonObject): ModelFacts {
  const info = fieldsOf(shown["model_info"]);
  const architecture = textOf(info["general.architecture"]);
  const [, configured] = /^num_ctx\s+(\d+)$/m.exec(textOf(shown["parameters"])) ?? [];
  const { capabilities, details } = shown;
  const abilities = Array.isArray(capabilities)
    ? {
        tools: has(capabilities, "tools"),
        vision: has(capabilities, "vision"),
        reasoning: has(capabilities, "thinking"),
      }
    : {};
  const { format } = fieldsOf(details);
  return {
    contexts: contextsOf({
      configured: configured && Number(configured),
      trained: info[`${architecture}.context_length`],
    }),
    features: known({
      ...abilities,
      // Its runner for MLX takes a schema and leaves it (ollama/ollama#17183).
      structuredOutput:
        format === "gguf" ? "enforced" : format === "safetensors" ? "ignored" : undefined,
    }),
  };
}

/** Of `GET /api/ps`. */
function runningFacts({ models }: JsonObject, model: string): ModelFacts {
  const running = listOf(models).find((one) => isSameModel(textOf(one["name"]), model));
  return { contexts: contextsOf({ loaded: running?.["context_length"] }), features: {} };
}

/** Of `GET /api/v1/models`, or of `/api/v0/models` before version 0.4. */
function lmStudioFacts({ models, data }: JsonObject, model: string): ModelFacts | undefined {
  const older = listOf(data).find(({ id }) => id === model);
  if (older !== undefined) return olderLmStudioFacts(older);
  const entries = listOf(models);
  const instancesOf = (entry: JsonObject) => listOf(entry["loaded_instances"]);
  const isInstance = ({ id }: JsonObject) => id === model;
  const entry =
    entries.find((one) => instancesOf(one).some(isInstance)) ??
    entries.find(({ key }) => key === model);
  if (entry === undefined) return undefined;
  const instances = instancesOf(entry);
  const { config } = instances.find(isInstance) ?? instances[0] ?? {};
  const { vision, trained_for_tool_use: tools, reasoning } = fieldsOf(entry["capabilities"]);
  return {
    contexts: contextsOf({
      loaded: fieldsOf(config)["context_length"],
      trained: entry["max_context_length"],
    }),
    features: known({
      vision: flag(vision),
      tools: flag(tools),
      // An object with what can be chosen, or a flag.
      reasoning: flag(reasoning === undefined ? undefined : Boolean(reasoning)),
    }),
  };
}

function olderLmStudioFacts(entry: JsonObject): ModelFacts {
  const { type, capabilities } = entry;
  return {
    contexts: contextsOf({
      loaded: entry["loaded_context_length"],
      trained: entry["max_context_length"],
    }),
    features: known({
      vision: type === "vlm" ? "supported" : type === "llm" ? "unsupported" : undefined,
      tools: Array.isArray(capabilities) ? has(capabilities, "tool_use") : undefined,
    }),
  };
}

function contextsOf(figures: Partial<Record<ContextSource, unknown>>): ModelFacts["contexts"] {
  const read = Object.entries(figures).map(([from, value]) => [from, tokensIn(value)] as const);
  return Object.fromEntries(read.filter(([, tokens]) => tokens !== undefined));
}

function tokensIn(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : undefined;
}

function listOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.map(fieldsOf) : [];
}

function has(list: readonly unknown[], word: string): CapabilityValue {
  return list.includes(word) ? "supported" : "unsupported";
}

function flag(value: unknown): CapabilityValue | undefined {
  if (typeof value !== "boolean") return undefined;
  return value ? "supported" : "unsupported";
}

/** Without what is not known: it must not take the place of what another response says. */
function known(features: {
  [Name in keyof Features]?: Features[Name] | undefined;
}): Partial<Features> {
  const entries = Object.entries(features).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries);
}
