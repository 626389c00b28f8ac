import { createSseReader } from "@roomhub/protocol";
import { countingSource } from "../responses/response.fixture.ts";
import type { ServerProgram } from "../learn/fingerprints.ts";
import { messageStream } from "./output/message-stream.ts";
import { type TranslatedMessage, translateMessages } from "./request/request.ts";
import { UntranslatableError } from "../translation/placed-object.ts";

/** Translates a request that has the fields of `requested` and what every request has. */
export function translated(
  requested: Record<string, unknown>,
  program?: ServerProgram,
): TranslatedMessage {
  const usual = { model: "llama", messages: [{ role: "user", content: "hi" }] };
  return translateMessages(Buffer.from(JSON.stringify({ ...usual, ...requested })), program);
}

/** The chat body as the provider reads it. */
export function chatOf(
  requested: Record<string, unknown>,
  program?: ServerProgram,
): Record<string, unknown> {
  return JSON.parse(JSON.stringify(translated(requested, program).chat)) as Record<string, unknown>;
}

export function messagesOf(messages: unknown, requested: Record<string, unknown> = {}): unknown {
  return chatOf({ messages, ...requested })["messages"];
}

/** @returns why the request was refused: code and field */
export function refusalOf(
  requested: Record<string, unknown>,
  program?: ServerProgram,
): [code: string, param: string] {
  try {
    translated(requested, program);
  } catch (error) {
    if (error instanceof UntranslatableError) return [error.code, error.param];
    throw error;
  }
  throw new Error("It was translated.");
}

export type MessageEvent = Record<string, unknown> & { type: string };

/** What a whole chat stream becomes. */
export function streamed(chat: string, requested: Record<string, unknown> = {}) {
  const stream = messageStream(translated({ stream: true, ...requested }), countingSource());
  const text = stream.start() + stream.push(Buffer.from(chat));
  const end = stream.end();
  return {
    sse: text + end.text,
    events: messageEventsIn(text + end.text),
    isComplete: end.isComplete,
    isBroken: stream.isBroken,
  };
}

export function messageEventsIn(sse: string): MessageEvent[] {
  const events: MessageEvent[] = [];
  const reader = createSseReader(({ event, data }) => {
    const value = JSON.parse(data) as MessageEvent;
    if (event !== value.type) throw new Error(`event: ${event} names itself ${value.type}`);
    events.push(value);
  });
  reader.feed(sse);
  return events;
}
