import { randomUUID } from "node:crypto";

/** What the demo model says; every word is counted as one token. */
export interface DemoReply {
  model: string;
  /** With their trailing spaces. */
  words: string[];
  /** The caller's token limit ended it. */
  isCut: boolean;
  inputTokens: number;
  createdSeconds: number;
}

/** One piece of a stream as it goes over the wire. */
export interface DemoFrame {
  text: string;
  /** Before a word there is a pause. */
  isWord: boolean;
}

/** A chat completion, whole. */
export function chatBody(answer: DemoReply): object {
  const message = { role: "assistant", content: answer.words.join("").trimEnd(), refusal: null };
  return {
    ...chatHead(answer, "chat.completion"),
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishReason(answer) }],
    usage: chatUsage(answer),
  };
}

/**
 * A chat completion, streamed. Usage has a chunk of its own when it was asked for; else it rides on the last chunk with
 * a choice, because some clients trip over a chunk without choices that they did not ask for.
 */
export function* chatChunks(answer: DemoReply, wantsUsage: boolean): Generator<DemoFrame> {
  const head = chatHead(answer, "chat.completion.chunk");
  const choice = (delta: object, finish_reason: string | null) => [
    { index: 0, delta, logprobs: null, finish_reason },
  ];
  const frame = (chunk: object, isWord = false): DemoFrame => ({
    text: `data: ${JSON.stringify(chunk)}\n\n`,
    isWord,
  });
  yield frame({ ...head, choices: choice({ role: "assistant", content: "" }, null) });
  for (const word of answer.words) {
    yield frame({ ...head, choices: choice({ content: word }, null) }, true);
  }
  const usage = chatUsage(answer);
  const last = { ...head, choices: choice({}, finishReason(answer)) };
  if (wantsUsage) {
    yield frame(last);
    yield frame({ ...head, choices: [], usage });
  } else {
    yield frame({ ...last, usage });
  }
  yield { text: "data: [DONE]\n\n", isWord: false };
}

/** A response object, whole. */
export function responsesBody(answer: DemoReply): object {
  const item = outputItem(newId("msg"), "completed", answer.words.join("").trimEnd());
  return finishedResponse(answer, newId("resp"), item);
}

/** A response, streamed: the events of one text answer in the order the API documents. */
export function* responsesEvents(answer: DemoReply): Generator<DemoFrame> {
  const id = newId("resp");
  const itemId = newId("msg");
  const place = { item_id: itemId, output_index: 0, content_index: 0 };
  let sequence = 0;
  const frame = (type: string, fields: object, isWord = false): DemoFrame => {
    const data = JSON.stringify({ type, sequence_number: sequence++, ...fields });
    return { text: `event: ${type}\ndata: ${data}\n\n`, isWord };
  };
  const running = responseObject(answer, id, "in_progress", [], null);
  const text = answer.words.join("");
  yield frame("response.created", { response: running });
  yield frame("response.in_progress", { response: running });
  const opened = { ...outputItem(itemId, "in_progress", ""), content: [] };
  yield frame("response.output_item.added", { output_index: 0, item: opened });
  yield frame("response.content_part.added", { ...place, part: textPart("") });
  for (const word of answer.words) {
    yield frame("response.output_text.delta", { ...place, delta: word, logprobs: [] }, true);
  }
  yield frame("response.output_text.done", { ...place, text, logprobs: [] });
  yield frame("response.content_part.done", { ...place, part: textPart(text) });
  const item = outputItem(itemId, answer.isCut ? "incomplete" : "completed", text);
  yield frame("response.output_item.done", { output_index: 0, item });
  const last = answer.isCut ? "response.incomplete" : "response.completed";
  yield frame(last, { response: finishedResponse(answer, id, item) });
}

function chatHead(answer: DemoReply, object: string): object {
  return {
    id: newId("chatcmpl"),
    object,
    created: answer.createdSeconds,
    model: answer.model,
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

function finishReason(answer: DemoReply): string {
  return answer.isCut ? "length" : "stop";
}

function finishedResponse(answer: DemoReply, id: string, item: object): object {
  const outputTokens = answer.words.length;
  const usage = {
    input_tokens: answer.inputTokens,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: answer.inputTokens + outputTokens,
  };
  return responseObject(answer, id, answer.isCut ? "incomplete" : "completed", [item], usage);
}

function responseObject(
  answer: DemoReply,
  id: string,
  status: string,
  output: object[],
  usage: object | null,
): object {
  return {
    id,
    object: "response",
    created_at: answer.createdSeconds,
    completed_at: status === "completed" ? answer.createdSeconds : null,
    status,
    error: null,
    incomplete_details: status === "incomplete" ? { reason: "max_output_tokens" } : null,
    instructions: null,
    max_output_tokens: null,
    model: answer.model,
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
