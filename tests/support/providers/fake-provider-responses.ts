import {
  type Answer,
  type AnswerEvent,
  createdSeconds,
  halves,
  outputTokens,
  type Reply,
  type RequestBody,
  type ToolCall,
} from "./fake-provider-bodies.ts";

/** `POST /v1/responses`: the whole event sequence, with every key the Open Responses schema demands. */
export function answerResponses(body: RequestBody, reply: Reply): Answer {
  const text = reply.pieces.join("");
  const status = reply.isTruncated ? "incomplete" : "completed";
  const item =
    reply.toolCall === undefined
      ? messageItem(reply, status, [textPart(text)])
      : callItem(reply.toolCall, "completed", reply.toolCall.arguments);
  const final = {
    ...responseObject(body, reply),
    status,
    completed_at: reply.isTruncated ? null : createdSeconds,
    incomplete_details: reply.isTruncated ? { reason: "max_output_tokens" } : null,
    output: [item],
    usage: reply.hasUsage ? responsesUsage(reply) : null,
  };

  const events: AnswerEvent[] = [];
  const push = (name: string, fields: object, role: AnswerEvent["role"] = "content") => {
    events.push({ name, data: { type: name, sequence_number: events.length, ...fields }, role });
  };
  const started = responseObject(body, reply);
  push("response.created", { response: started });
  push("response.in_progress", { response: started });
  if (reply.toolCall === undefined) pushMessage(push, reply, text);
  else pushCall(push, reply.toolCall);
  push("response.output_item.done", { output_index: 0, item });
  push(`response.${status}`, { response: final }, "terminal");
  events.push({ data: "[DONE]", role: "done" });
  return { json: final, events };
}

type Push = (name: string, fields: object) => void;

function pushMessage(push: Push, reply: Reply, text: string): void {
  const place = { item_id: `msg_${reply.number}`, output_index: 0, content_index: 0 };
  push("response.output_item.added", {
    output_index: 0,
    item: messageItem(reply, "in_progress", []),
  });
  push("response.content_part.added", { ...place, part: textPart("") });
  for (const delta of reply.pieces) {
    push("response.output_text.delta", { ...place, delta, logprobs: [] });
  }
  push("response.output_text.done", { ...place, text, logprobs: [] });
  push("response.content_part.done", { ...place, part: textPart(text) });
}

function pushCall(push: Push, call: ToolCall): void {
  const place = { item_id: `fc_${call.id}`, output_index: 0 };
  push("response.output_item.added", { output_index: 0, item: callItem(call, "in_progress", "") });
  for (const delta of halves(call.arguments)) {
    push("response.function_call_arguments.delta", { ...place, delta });
  }
  push("response.function_call_arguments.done", {
    ...place,
    name: call.name,
    arguments: call.arguments,
  });
}

function textPart(text: string) {
  return { type: "output_text", text, annotations: [], logprobs: [] };
}

function messageItem(reply: Reply, status: string, content: object[]) {
  return { id: `msg_${reply.number}`, type: "message", status, role: "assistant", content };
}

function callItem(call: ToolCall, status: string, args: string) {
  return {
    id: `fc_${call.id}`,
    type: "function_call",
    status,
    call_id: call.id,
    name: call.name,
    arguments: args,
  };
}

/** A response in progress: the request's fields are repeated, missing ones are filled in as OpenAI does. */
function responseObject(body: RequestBody, reply: Reply) {
  const asked = (key: string, otherwise: unknown) => body[key] ?? otherwise;
  return {
    id: `resp_${reply.number}`,
    object: "response",
    created_at: createdSeconds,
    completed_at: null as number | null,
    status: "in_progress",
    background: false,
    error: null,
    incomplete_details: null as object | null,
    instructions: asked("instructions", null),
    max_output_tokens: asked("max_output_tokens", null),
    max_tool_calls: asked("max_tool_calls", null),
    model: reply.model,
    output: [] as object[],
    parallel_tool_calls: asked("parallel_tool_calls", true),
    previous_response_id: asked("previous_response_id", null),
    prompt_cache_key: asked("prompt_cache_key", null),
    reasoning: { effort: null, summary: null, ...(body["reasoning"] as object | undefined) },
    safety_identifier: asked("safety_identifier", null),
    service_tier: "default",
    store: asked("store", true),
    temperature: asked("temperature", 1),
    text: asked("text", { format: { type: "text" } }),
    tool_choice: asked("tool_choice", "auto"),
    tools: toolList(body["tools"]),
    top_logprobs: asked("top_logprobs", 0),
    top_p: asked("top_p", 1),
    presence_penalty: asked("presence_penalty", 0),
    frequency_penalty: asked("frequency_penalty", 0),
    truncation: asked("truncation", "disabled"),
    usage: null as object | null,
    user: asked("user", null),
    metadata: asked("metadata", {}),
  };
}

function toolList(tools: unknown): object[] {
  if (!Array.isArray(tools)) return [];
  return (tools as object[]).map((tool) =>
    Object.assign({ description: null, parameters: null, strict: true }, tool),
  );
}

function responsesUsage(reply: Reply): object {
  return {
    input_tokens: reply.inputTokens,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: outputTokens(reply),
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: reply.inputTokens + outputTokens(reply),
  };
}
