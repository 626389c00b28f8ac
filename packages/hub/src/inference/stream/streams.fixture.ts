/** A chat stream's events as providers write them, one data line each, with the given line end. */
export function chatStream(events: readonly unknown[], lineEnd = "\n"): string {
  return events.map((event) => `data: ${asData(event)}${lineEnd}${lineEnd}`).join("");
}

/** A Responses stream: `event:` line and data line, numbered from 0. */
export function responsesStream(
  events: readonly ({ type: string } & Record<string, unknown>)[],
  { lineEnd = "\n", hasEventLines = true } = {},
): string {
  return events
    .map((event, index) => {
      const data = `data: ${JSON.stringify({ ...event, sequence_number: index })}${lineEnd}${lineEnd}`;
      return hasEventLines ? `event: ${event.type}${lineEnd}${data}` : data;
    })
    .join("");
}

function asData(event: unknown): string {
  return typeof event === "string" ? event : JSON.stringify(event);
}

export const done = "[DONE]";

/** One chat chunk. */
export function chunk(delta: Record<string, unknown>, finishReason: string | null = null) {
  return {
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason: finishReason }],
  };
}

export const role = chunk({ role: "assistant", content: "" });
export const finish = chunk({}, "stop");
const usage = { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 };
export const usageChunk = { id: "chatcmpl-1", object: "chat.completion.chunk", choices: [], usage };

const response = { id: "resp_1", object: "response", status: "in_progress", output: [] };
export const created = { type: "response.created", response };
export const textDelta = { type: "response.output_text.delta", delta: "Gr\u00fc\u00dfe \u2028" };

/** @param extra - put into the response behind its usage */
export function completed(extra: Record<string, unknown> = {}) {
  const counts = { input_tokens: 5, output_tokens: 7, total_tokens: 12 };
  return {
    type: "response.completed",
    response: { ...response, status: "completed", usage: counts, ...extra },
  };
}

/** A messages stream as Anthropic writes it: `event:` line and data line. */
export function messagesStream(
  events: readonly ({ type: string } & Record<string, unknown>)[],
  { lineEnd = "\n", hasEventLines = true } = {},
): string {
  return events
    .map((event) => {
      const data = `data: ${JSON.stringify(event)}${lineEnd}${lineEnd}`;
      return hasEventLines ? `event: ${event.type}${lineEnd}${data}` : data;
    })
    .join("");
}

const message = { id: "msg_1", type: "message", role: "assistant", content: [], model: "m" };
export const messageStart = {
  type: "message_start",
  message: {
    ...message,
    usage: { input_tokens: 25, cache_read_input_tokens: 9, output_tokens: 1 },
  },
};
export const blockStart = {
  type: "content_block_start",
  index: 0,
  content_block: { type: "text", text: "" },
};
export const messageDelta = {
  type: "message_delta",
  delta: { stop_reason: "end_turn", stop_sequence: null },
  usage: { output_tokens: 15 },
};
export const blockStop = { type: "content_block_stop", index: 0 };
export const messageStop = { type: "message_stop" };
export const ping = { type: "ping" };

/** @param delta - one of `text_delta`, `thinking_delta`, `input_json_delta` */
export function blockDelta(delta: { type: string } & Record<string, unknown>) {
  return { type: "content_block_delta", index: 0, delta };
}
