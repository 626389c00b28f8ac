import type { ChatRequest } from "../../translation/surface-translation.ts";
import { translateInput } from "./input-items.ts";
import {
  noCounterpart,
  type PlacedObject,
  present,
  readBody,
  UntranslatableError,
} from "../../translation/placed-object.ts";
import { echoRequest, type ResponseEcho } from "./response-echo.ts";
import { translateText } from "./text-format.ts";
import { chatTools } from "../../translation/chat/chat-tools.ts";
import { ToolNaming, type ToolNames } from "../../translation/tool-naming.ts";
import { readTools } from "./tools.ts";

/** A Responses request translated for chat, and what translating the response needs. */
export interface TranslatedRequest extends ChatRequest {
  echo: ResponseEcho;
  toolNames: ToolNames;
}

/**
 * Fields that are not passed to the provider: they are translated below, repeated in the response object, or meant for a
 * service that stores responses. All others pass unchanged, since model servers have fields of their own.
 */
const notPassedOn = new Set([
  ...["input", "instructions", "text", "reasoning", "max_output_tokens", "top_logprobs"],
  ...["tools", "tool_choice", "parallel_tool_calls", "max_tool_calls"],
  ...["temperature", "top_p", "presence_penalty", "frequency_penalty"],
  ...["stream", "stream_options", "include", "truncation", "service_tier"],
  ...["previous_response_id", "conversation", "prompt", "background", "store"],
  ...["metadata", "client_metadata", "safety_identifier", "prompt_cache_key"],
]);

/**
 * Translates a Responses request for a provider that supports only chat completions. Nothing that affects the response is
 * left out silently: it is translated or refused.
 *
 * @param body - of `POST /responses`, with the provider's own model name in it
 * @throws UntranslatableError, and nothing else
 */
export function translateRequest(body: Buffer): TranslatedRequest {
  const request = readBody(body);
  refuseKeptState(request);
  const model = request.string("model");
  const isStream = request.optionalBoolean("stream") ?? false;
  // The tools first: declared ones keep their names before tools that are only in the history.
  const naming = new ToolNaming();
  const tools = chatTools(readTools(request, naming));
  const messages = translateInput(request, naming);
  const chat = {
    ...passedOn(request),
    ...present({ model, ...tools, ...translateText(request), ...samplingOf(request) }),
    ...(isStream ? { stream: true, stream_options: { include_usage: true } } : {}),
    messages,
  };
  return { chat, model, isStream, echo: echoRequest(request), toolNames: naming.names };
}

/** A provider of chat completions stores nothing, so a request that refers to stored state is refused. */
function refuseKeptState(request: PlacedObject): void {
  if (request.optionalString("previous_response_id") !== undefined) {
    throw new UntranslatableError(
      "The previous response was not found: this participant's provider keeps none. Send the whole conversation in input.",
      "previous_response_id",
      "previous_response_not_found",
    );
  }
  if (request.optionalBoolean("background") === true) {
    throw noCounterpart("A response in the background", "background", "Stream it instead.");
  }
  if (request.has("conversation")) {
    throw noCounterpart(
      "A stored conversation",
      "conversation",
      "Send the whole conversation in input.",
    );
  }
  if (request.has("prompt")) {
    throw noCounterpart("A stored prompt", "prompt", "Send its text as instructions.");
  }
}

/** Built from entries, so that a field called `__proto__` is a field. */
function passedOn({ value: request }: PlacedObject): Record<string, unknown> {
  return Object.fromEntries(Object.entries(request).filter(([key]) => !notPassedOn.has(key)));
}

function samplingOf(request: PlacedObject): Record<string, number | string | boolean | undefined> {
  const topLogprobs = request.optionalNumber("top_logprobs");
  const include = request.optionalArray("include") ?? [];
  const effort = request.objectOrEmpty("reasoning").optionalString("effort");
  return {
    max_tokens: request.optionalNumber("max_output_tokens"),
    temperature: request.optionalNumber("temperature"),
    top_p: request.optionalNumber("top_p"),
    presence_penalty: request.optionalNumber("presence_penalty"),
    frequency_penalty: request.optionalNumber("frequency_penalty"),
    // Zero is chat's default, and `top_logprobs` is refused without `logprobs`.
    logprobs: topLogprobs || include.includes("message.output_text.logprobs") ? true : undefined,
    top_logprobs: topLogprobs || undefined,
    // Some model servers do not know `none`.
    reasoning_effort: effort === "none" ? undefined : effort,
  };
}
