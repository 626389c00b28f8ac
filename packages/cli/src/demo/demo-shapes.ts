import { randomUUID } from "node:crypto";

/** The demo model's reply; every word counts as one token. */
export interface DemoReply {
  model: string;
  /** With their trailing spaces. */
  words: string[];
  /** Whether the request's token limit truncated it. */
  isCut: boolean;
  inputTokens: number;
  createdSeconds: number;
}

/** One frame of a stream, as sent. */
export interface DemoFrame {
  text: string;
  /** A word is sent after a pause. */
  isWord: boolean;
}

/** A chat completion that is not streamed. */
export function chatBody(reply: DemoReply): object {
  const message = { role: "assistant", content: reply.words.join("").trimEnd(), refusal: null };
  return {
    ...chatHead(reply, "chat.completion"),
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishReason(reply) }],
    usage: chatUsage(reply),
  };
}

/**
 * A chat completion, streamed. Usage has a chunk of its own when it was requested; else the last chunk with a choice
 * carries it, because some clients fail on an unrequested chunk without choices.
 */
export function* chatChunks(reply: DemoReply, includesUsage: boolean): Generator<DemoFrame> {
  const head = chatHead(reply, "chat.completion.chunk");
  const choice = (delta: object, finish_reason: string | null) => [
    { index: 0, delta, logprobs: null, finish_reason },
  ];
  const frame = (chunk: object, isWord = false): DemoFrame => ({
    text: `data: ${JSON.stringify(chunk)}\n\n`,
    isWord,
  });
  yield frame({ ...head, choices: choice({ role: "assistant", content: "" }, null) });
  for (const word of reply.words) {
    yield frame({ ...head, choices: choice({ content: word }, null) }, true);
  }
  const usage = chatUsage(reply);
  const last = { ...head, choices: choice({}, finishReason(reply)) };
  if (includesUsage) {
    yield frame(last);
    yield frame({ ...head, choices: [], usage });
  } else {
    yield frame({ ...last, usage });
  }
  yield { text: "data: [DONE]\n\n", isWord: false };
}

/** A response object that is not streamed. */
export function responsesBody(reply: DemoReply): object {
  const item = outputItem(newId("msg"), "completed", reply.words.join("").trimEnd());
  return finishedResponse(reply, newId("resp"), item);
}

/** A response, streamed: the events of one text output, in the order the API documents. */
export function* responsesEvents(reply: DemoReply): Generator<DemoFrame> {
  const id = newId("resp");
  const itemId = newId("msg");
  const place = { item_id: itemId, output_index: 0, content_index: 0 };
  let sequence = 0;
  const frame = (type: string, fields: object, isWord = false): DemoFrame => {
    const data = JSON.stringify({ type, sequence_number: sequence++, ...fields });
    return { text: `event: ${type}\ndata: ${data}\n\n`, isWord };
  };
  const running = responseObject(reply, id, "in_progress", [], null);
  const text = reply.words.join("");
  yield frame("response.created", { response: running });
  yield frame("response.in_progress", { response: running });
  const opened = { ...outputItem(itemId, "in_progress", ""), content: [] };
  yield frame("response.output_item.added", { output_index: 0, item: opened });
  yield frame("response.content_part.added", { ...place, part: textPart("") });
  for (const word of reply.words) {
    yield frame("response.output_text.delta", { ...place, delta: word, logprobs: [] }, true);
  }
  yield frame("response.output_text.done", { ...place, text, logprobs: [] });
  yield frame("response.content_part.done", { ...place, part: textPart(text) });
  const item = outputItem(itemId, reply.isCut ? "incomplete" : "completed", text);
  yield frame("response.output_item.done", { output_index: 0, item });
  const last = reply.isCut ? "response.incomplete" : "response.completed";
  yield frame(last, { response: finishedResponse(reply, id, item) });
}

function chatHead(reply: DemoReply, object: string): object {
  return {
    id: newId("chatcmpl"),
    object,
    created: reply.createdSeconds,
    model: reply.model,
    system_fingerprint: "roomhub-demo",
  };
}

function chatUsage({ inputTokens, words }: DemoReply): object {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: words.length,
    total_tokens: inputTokens + words.length,
  };
}

function finishReason(reply: DemoReply): string {
  return reply.isCut ? "length" : "stop";
}

function finishedResponse(reply: DemoReply, id: string, item: object): object {
  const outputTokens = reply.words.length;
  const usage = {
    input_tokens: reply.inputTokens,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: reply.inputTokens + outputTokens,
  };
  return responseObject(reply, id, reply.isCut ? "incomplete" : "completed", [item], usage);
}

function responseObject(
  reply: DemoReply,
  id: string,
  status: string,
  output: object[],
  usage: object | null,
): object {
  return {
    id,
    object: "response",
    created_at: reply.createdSeconds,
    completed_at: status === "completed" ? reply.createdSeconds : null,
    status,
    error: null,
    incomplete_details: status === "incomplete" ? { reason: "max_output_tokens" } : null,
    instructions: null,
    max_output_tokens: null,
    model: reply.model,
    output,
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    store: false,
    temperature: 1,
    text: { format: { type: "text" } },
    tool_choice: "auto",
    tools: [],
    top_p: 1,
    truncation: "disabled",
    usage,
    user: null,
    metadata: {},
  };
}

function outputItem(id: string, status: string, text: string): object {
  return { id, type: "message", status, role: "assistant", content: [textPart(text)] };
}

function textPart(text: string): object {
  return { type: "output_text", text, annotations: [], logprobs: [] };
}

function newId(prefix: string): string {
  return `${prefix}_${randomUUID().replaceAll("-", "")}`;
}
