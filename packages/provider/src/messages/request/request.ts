import type { ServerProgram } from "../../learn/fingerprints.ts";
import {
  isAbsent,
  noCounterpart,
  PlacedObject,
  present,
  readBody,
  UntranslatableError,
} from "../../translation/placed-object.ts";
import type { ChatRequest } from "../../translation/surface-translation.ts";
import { chatTools } from "../../translation/chat/chat-tools.ts";
import { ToolNaming, type ToolNames } from "../../translation/tool-naming.ts";
import { translateConversation } from "./conversation.ts";
import { readTools } from "./tools.ts";
import { systemText } from "./content-blocks.ts";

/** A request for a message translated for chat, and what translating the response needs. */
export interface TranslatedMessage extends ChatRequest {
  toolNames: ToolNames;
  /** the ids of calls in the conversation */
  callIds: ReadonlySet<string>;
  /** The client reads the model's reasoning. */
  showsThinking: boolean;
}

/** Without a counterpart in chat, and too important to be left out. */
const refused = {
  mcp_servers: "A list of MCP servers",
  container: "A container",
  n: "Several responses to one request",
} as const;

/**
 * Translates a `POST /messages` for a provider that supports only chat completions. The conversation is translated
 * completely or refused; unknown members of the body, and those about Anthropic's service, are left out.
 *
 * @param body - with the provider's own model name in it
 * @param program - of the server, where it is known
 * @throws UntranslatableError, and nothing else
 */
export function translateMessages(
  body: Buffer,
  program: ServerProgram | undefined,
): TranslatedMessage {
  const request = readBody(body);
  refuseMembers(request);
  refuseContinuation(request);
  const model = request.string("model");
  const isStream = request.optionalBoolean("stream") ?? false;
  // The tools first: declared ones keep their names before tools that are only in the history.
  const naming = new ToolNaming();
  const tools = chatTools(readTools(request, naming));
  const conversation = translateConversation(
    request.value["messages"],
    systemText(request),
    naming,
  );
  const chat = {
    ...present({ model, ...tools, ...settingsOf(request) }),
    ...prefillFields(conversation.prefillPath, program),
    ...(isStream ? { stream: true, stream_options: { include_usage: true } } : {}),
    messages: conversation.messages,
  };
  return {
    chat,
    model,
    isStream,
    toolNames: naming.names,
    callIds: conversation.callIds,
    showsThinking: showsThinking(request),
  };
}

function refuseMembers({ value: request }: PlacedObject): void {
  for (const [key, what] of Object.entries(refused)) {
    const value = request[key];
    const isEmpty = isAbsent(value) || (Array.isArray(value) && value.length === 0) || value === 1;
    if (!isEmpty) throw noCounterpart(what, key, `Leave ${key} out.`);
  }
}

/** The first request of a thread has the whole conversation; a service that stores none cannot continue it. */
function refuseContinuation(request: PlacedObject): void {
  if (request.optionalObject("thread")?.value["type"] !== "continue") return;
  throw new UntranslatableError(
    "The thread was not found: this participant's provider keeps none. Send the whole conversation in messages.",
    "thread",
    "thread_not_found",
  );
}

function settingsOf(request: PlacedObject): Record<string, unknown> {
  const stop = request.optionalArray("stop_sequences");
  const output = request.objectOrEmpty("output_config");
  return {
    max_tokens: request.optionalNumber("max_tokens"),
    temperature: request.optionalNumber("temperature"),
    top_p: request.optionalNumber("top_p"),
    top_k: request.optionalNumber("top_k"),
    stop: stop === undefined || stop.length === 0 ? undefined : stop,
    reasoning_effort: effortOf(output),
    response_format: requestedFormat(request),
  };
}

/** Whether the request has a response format. Only a body that mentions one is parsed. */
export function requestsFormat(body: Buffer): boolean {
  if (!body.includes('"output_config"') && !body.includes('"output_format"')) return false;
  try {
    return requestedFormat(readBody(body)) !== undefined;
  } catch (error) {
    if (!(error instanceof UntranslatableError)) throw error;
    return false; // the server says what is wrong with it
  }
}

function requestedFormat(request: PlacedObject): object | undefined {
  const output = request.objectOrEmpty("output_config");
  const { output_format: format } = request.value;
  return formatOf(output) ?? formatOf(new PlacedObject({ format }, output.path));
}

/** `high` is the most in chat. */
function effortOf(output: PlacedObject): string | undefined {
  const effort = output.optionalString("effort");
  return effort === "max" || effort === "xhigh" ? "high" : effort;
}

function formatOf(output: PlacedObject): object | undefined {
  const format = output.optionalObject("format");
  if (format?.value["type"] !== "json_schema") return undefined;
  const schema = format.optionalObject("schema")?.value;
  if (schema === undefined) return undefined;
  return { type: "json_schema", json_schema: { name: "output", schema, strict: true } };
}

/** `enabled` or `adaptive`, unless it is omitted. */
function showsThinking(request: PlacedObject): boolean {
  const { type, display } = request.objectOrEmpty("thinking").value;
  return (type === "enabled" || type === "adaptive") && display !== "omitted";
}

/** Makes a server continue a last message of the assistant; other servers would begin a new one. */
const continued: Partial<Record<ServerProgram, object>> = {
  "llama.cpp": {},
  vLLM: { add_generation_prompt: false, continue_final_message: true },
  SGLang: { continue_final_message: true },
};

/**
 * @param path - of the assistant message that the model is to continue; undefined when there is none
 * @throws UntranslatableError when the server is not known to continue it
 */
function prefillFields(path: string | undefined, program: ServerProgram | undefined): object {
  if (path === undefined) return {};
  const fields = program === undefined ? undefined : continued[program];
  if (fields !== undefined) return fields;
  throw noCounterpart(
    "A last message of the assistant, for the model to continue,",
    path,
    "End with a message of the user.",
  );
}
