import { isObject } from "@roomhub/protocol";
import type { PlacedObject } from "../../translation/placed-object.ts";
import { echoText } from "./text-format.ts";

export type ResponseEcho = ReturnType<typeof echoRequest>;

/**
 * The request as the response object repeats it. Open Responses 2026-04-24, `ResponseResource`: all keys are required, and null
 * if the request leaves them out. Missing numbers are the defaults of the Responses API, since the keys must be numbers and the
 * provider's defaults are not known.
 */
export function echoRequest(body: PlacedObject) {
  return {
    instructions: body.optionalString("instructions") ?? null,
    /** only function tools, each with name, description, parameters and strict */
    tools: functionTools(body),
    tool_choice: echoChoice(body.value["tool_choice"]),
    truncation: "disabled",
    parallel_tool_calls: body.optionalBoolean("parallel_tool_calls") ?? true,
    text: echoText(body),
    top_p: body.optionalNumber("top_p") ?? 1,
    presence_penalty: body.optionalNumber("presence_penalty") ?? 0,
    frequency_penalty: body.optionalNumber("frequency_penalty") ?? 0,
    top_logprobs: body.optionalNumber("top_logprobs") ?? 0,
    temperature: body.optionalNumber("temperature") ?? 1,
    reasoning: echoReasoning(body),
    max_output_tokens: body.optionalNumber("max_output_tokens") ?? null,
    max_tool_calls: body.optionalNumber("max_tool_calls") ?? null,
    // Nothing stores the response, whatever the request says.
    store: false,
    background: false,
    service_tier: body.optionalString("service_tier") ?? "default",
    metadata: body.objectOrEmpty("metadata").value,
    safety_identifier: body.optionalString("safety_identifier") ?? null,
    prompt_cache_key: body.optionalString("prompt_cache_key") ?? null,
    previous_response_id: null,
  };
}

/** Clients validate these by a schema that has only function tools. */
function functionTools(body: PlacedObject): object[] {
  const tools = body.optionalArray("tools") ?? [];
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

function echoReasoning(body: PlacedObject) {
  const reasoning = body.optionalObject("reasoning");
  if (reasoning === undefined) return null;
  return {
    effort: reasoning.optionalString("effort") ?? null,
    summary: reasoning.optionalString("summary") ?? null,
  };
}
