import { createSseReader } from "@roomhub/protocol";
import type { TranslationSource } from "../translation/surface-translation.ts";
import { responsesStream } from "./output/stream.ts";
import type { TranslatedRequest } from "./request/request.ts";

/** A request without optional fields, as the response half needs it. */
export function translatedRequest(changes: Partial<TranslatedRequest> = {}): TranslatedRequest {
  return {
    chat: { messages: [] },
    model: "requested-model",
    isStream: true,
    toolNames: new Map(),
    echo: {
      instructions: null,
      tools: [],
      tool_choice: "auto",
      truncation: "disabled",
      parallel_tool_calls: true,
      text: { format: { type: "text" } },
      top_p: 1,
      presence_penalty: 0,
      frequency_penalty: 0,
      top_logprobs: 0,
      temperature: 1,
      reasoning: null,
      max_output_tokens: null,
      max_tool_calls: null,
      store: false,
      background: false,
      service_tier: "default",
      metadata: {},
      safety_identifier: null,
      prompt_cache_key: null,
      previous_response_id: null,
    },
    ...changes,
  };
}

/** Ids in order, `msg_1` after `resp_0`, at a second that grows by one with each look. */
export function countingSource(): TranslationSource {
  let ids = 0;
  let seconds = 1_000;
  return { newId: (prefix) => `${prefix}_${ids++}`, nowSeconds: () => seconds++ };
}

/** One event of a chat stream. */
export function chatChunk(delta: object, finishReason: string | null = null): string {
  return chatData({ choices: [{ index: 0, delta, finish_reason: finishReason }] });
}

export function chatData(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

export const chatDone = "data: [DONE]\n\n";

export type StreamEvent = Record<string, unknown> & { type: string };

/** What a whole chat stream becomes. */
export function translated(chat: string, changes: Partial<TranslatedRequest> = {}) {
  const stream = responsesStream(translatedRequest(changes), countingSource());
  const text = stream.start() + stream.push(Buffer.from(chat));
  const end = stream.end();
  return {
    sse: text + end.text,
    events: eventsIn(text + end.text),
    isComplete: end.isComplete,
    isBroken: stream.isBroken,
  };
}

/** The JSON of each event; `[DONE]` is left out. */
export function eventsIn(sse: string): StreamEvent[] {
  const events: StreamEvent[] = [];
  const reader = createSseReader(({ event, data }) => {
    if (data === "[DONE]") return;
    const value = JSON.parse(data) as StreamEvent;
    if (event !== value.type) throw new Error(`event: ${event} names itself ${value.type}`);
    events.push(value);
  });
  reader.feed(sse);
  return events;
}
