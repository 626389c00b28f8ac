import { isObject, type JsonObject } from "@roomhub/protocol";
import {
  optionalArray,
  optionalBoolean,
  optionalNumber,
  optionalObject,
  optionalString,
} from "../../translation/read-field.ts";
import { echoText } from "./text-format.ts";

/**
 * What a response object repeats of its request. Open Responses 2026-04-24, `ResponseResource`: all keys are required, and
 * null if the request leaves them out. Some values are fixed by the translation: `truncation` is `disabled`, `background`
 * false, `previous_response_id` null.
 */
export interface ResponseEcho {
  instructions: string | null;
  /** only function tools, each with name, description, parameters and strict */
  tools: readonly object[];
  tool_choice: unknown;
  truncation: "disabled";
  parallel_tool_calls: boolean;
  text: object;
  top_p: number;
  presence_penalty: number;
  frequency_penalty: number;
  top_logprobs: number;
  temperature: number;
  reasoning: { effort: string | null; summary: string | null } | null;
  max_output_tokens: number | null;
  max_tool_calls: number | null;
  store: boolean;
  background: false;
  service_tier: string;
  metadata: object;
  safety_identifier: string | null;
  prompt_cache_key: string | null;
  previous_response_id: null;
}

/**
 * The request as the response object repeats it. Missing numbers are the defaults of the Responses API, since the keys must be
 * numbers and the provider's defaults are not known.
 */
export function echoRequest(body: JsonObject): ResponseEcho {
  return {
    instructions: optionalString(body, "instructions", "") ?? null,
    tools: functionTools(body),
    tool_choice: echoChoice(body["tool_choice"]),
    truncation: "disabled",
    parallel_tool_calls: optionalBoolean(body, "parallel_tool_calls", "") ?? true,
    text: echoText(body),
    top_p: optionalNumber(body, "top_p", "") ?? 1,
    presence_penalty: optionalNumber(body, "presence_penalty", "") ?? 0,
    frequency_penalty: optionalNumber(body, "frequency_penalty", "") ?? 0,
    top_logprobs: optionalNumber(body, "top_logprobs", "") ?? 0,
    temperature: optionalNumber(body, "temperature", "") ?? 1,
    reasoning: echoReasoning(body),
    max_output_tokens: optionalNumber(body, "max_output_tokens", "") ?? null,
    max_tool_calls: optionalNumber(body, "max_tool_calls", "") ?? null,
    // Nothing stores the response, whatever the request says.
    store: false,
    background: false,
    service_tier: optionalString(body, "service_tier", "") ?? "default",
    metadata: optionalObject(body, "metadata", "") ?? {},
    safety_identifier: optionalString(body, "safety_identifier", "") ?? null,
    prompt_cache_key: optionalString(body, "prompt_cache_key", "") ?? null,
    previous_response_id: null,
  };
}

/** Clients validate these by a schema that has only function tools. */
function functionTools(body: JsonObject): object[] {
  const tools = optionalArray(body, "tools", "") ?? [];
  return tools
    .filter((tool) => isObject(tool))
    .filter((tool) => tool["type"] === "function")
    .map(({ name, description = null, parameters = null, strict = null }) => ({
      type: "function",
      name,
      description,
      parameters,
      strict,
    }));
}

/** Unchanged; a request may leave out the mode of `allowed_tools`, a response may not. */
function echoChoice(choice: unknown): unknown {
  if (!isObject(choice)) return choice ?? "auto";
  return choice["type"] === "allowed_tools"
    ? { ...choice, mode: choice["mode"] ?? "auto" }
    : choice;
}

function echoReasoning(body: JsonObject): ResponseEcho["reasoning"] {
  const reasoning = optionalObject(body, "reasoning", "");
  if (reasoning === undefined) return null;
  return {
    effort: optionalString(reasoning, "effort", "reasoning") ?? null,
    summary: optionalString(reasoning, "summary", "reasoning") ?? null,
  };
}
