/** One server-sent event of a response. */
export interface AnswerEvent {
  /** the `event:` line; chat streams have none */
  name?: string | undefined;
  data: object | "[DONE]";
  /**
   * `content`: what a stream is for; `terminal`: marks the response as complete; `done`: the `[DONE]` after it.
   */
  role: "content" | "terminal" | "done";
}

/** The same response in both of its forms. */
export interface Answer {
  json: object;
  events: AnswerEvent[];
}

/** The fake model's output, before it is encoded for a surface. */
export interface Reply {
  /** makes ids: `chatcmpl-7`, `resp_7` */
  number: number;
  model: string;
  /** the text in the pieces a stream sends it in */
  pieces: string[];
  toolCall: ToolCall | undefined;
  /** cut short by the request's token limit */
  isTruncated: boolean;
  inputTokens: number;
  hasUsage: boolean;
}

export interface ToolCall {
  id: string;
  name: string;
  /** JSON */
  arguments: string;
}

export type RequestBody = Record<string, unknown>;

/** The creation time of every response. Epoch seconds. */
export const createdSeconds = 1_700_000_000;

export function answerChat(body: RequestBody, reply: Reply): Answer {
  const base = { id: `chatcmpl-${reply.number}`, created: createdSeconds, model: reply.model };
  const call = reply.toolCall && {
    id: reply.toolCall.id,
    type: "function",
    function: { name: reply.toolCall.name, arguments: reply.toolCall.arguments },
  };
  const finish = call === undefined ? (reply.isTruncated ? "length" : "stop") : "tool_calls";
  const message = {
    role: "assistant",
    content: call === undefined ? reply.pieces.join("") : null,
    refusal: null,
    annotations: [],
    ...(call === undefined ? {} : { tool_calls: [call] }),
  };
  const asksForUsage =
    (body["stream_options"] as RequestBody | undefined)?.["include_usage"] === true;
  const usage = chatUsage(reply);

  const chunk = (delta: object, finishReason: string | null = null) => ({
    ...base,
    object: "chat.completion.chunk",
    system_fingerprint: "fp_fake",
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finishReason }],
    ...(asksForUsage && reply.hasUsage ? { usage: null } : {}),
  });
  const events: AnswerEvent[] = [
    {
      data: chunk({ role: "assistant", content: call === undefined ? "" : null }),
      role: "content",
    },
  ];
  if (reply.toolCall === undefined) {
    for (const content of reply.pieces) events.push({ data: chunk({ content }), role: "content" });
  } else {
    const { id, name } = reply.toolCall;
    const head = { index: 0, id, type: "function", function: { name, arguments: "" } };
    events.push({ data: chunk({ tool_calls: [head] }), role: "content" });
    for (const text of halves(reply.toolCall.arguments)) {
      const part = { index: 0, function: { arguments: text } };
      events.push({ data: chunk({ tool_calls: [part] }), role: "content" });
    }
  }
  events.push({ data: chunk({}, finish), role: "terminal" });
  if (asksForUsage && reply.hasUsage) {
    events.push({ data: { ...chunk({}), choices: [], usage }, role: "terminal" });
  }
  events.push({ data: "[DONE]", role: "done" });
  const json = {
    ...base,
    object: "chat.completion",
    system_fingerprint: "fp_fake",
    service_tier: "default",
    choices: [{ index: 0, message, logprobs: null, finish_reason: finish }],
    ...(reply.hasUsage ? { usage } : {}),
  };
  return { json, events };
}

export function answerCompletion(reply: Reply): Answer {
  const base = {
    id: `cmpl-${reply.number}`,
    object: "text_completion",
    created: createdSeconds,
    model: reply.model,
  };
  const choice = (text: string, finishReason: string | null) => ({
    text,
    index: 0,
    logprobs: null,
    finish_reason: finishReason,
  });
  const finish = reply.isTruncated ? "length" : "stop";
  return {
    json: {
      ...base,
      choices: [choice(reply.pieces.join(""), finish)],
      ...(reply.hasUsage ? { usage: chatUsage(reply) } : {}),
    },
    events: [
      ...reply.pieces.map((text): AnswerEvent => ({
        data: { ...base, choices: [choice(text, null)] },
        role: "content",
      })),
      { data: { ...base, choices: [choice("", finish)] }, role: "terminal" },
      { data: "[DONE]", role: "done" },
    ],
  };
}

/** Eight numbers per input, as floats or, as the SDK requests by default, as base64 of 32-bit floats. */
export function answerEmbeddings(body: RequestBody, reply: Reply): Answer {
  const inputs = Array.isArray(body["input"]) ? body["input"] : [body["input"]];
  const data = inputs.map((input, index) => {
    const floats = Float32Array.from({ length: 8 }, (_, place) => String(input).length + place / 8);
    const embedding =
      body["encoding_format"] === "base64"
        ? Buffer.from(floats.buffer).toString("base64")
        : [...floats];
    return { object: "embedding", index, embedding };
  });
  const usage = { prompt_tokens: reply.inputTokens, total_tokens: reply.inputTokens };
  return { json: { object: "list", model: reply.model, data, usage }, events: [] };
}

export function outputTokens(reply: Reply): number {
  return reply.toolCall === undefined ? reply.pieces.length : 1;
}

export function halves(text: string): [string, string] {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)];
}

function chatUsage(reply: Reply): object {
  return {
    prompt_tokens: reply.inputTokens,
    completion_tokens: outputTokens(reply),
    total_tokens: reply.inputTokens + outputTokens(reply),
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
  };
}
