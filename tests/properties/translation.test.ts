import { parseChatCompletion } from "../../packages/provider/src/translation/chat/chat-choice.ts";
import { createSseReader } from "@roomhub/protocol";
import { array, assert, nat, property } from "fast-check";
import { expect, test } from "vitest";
import {
  translatedRequest,
  countingSource,
} from "../../packages/provider/src/responses/response.fixture.ts";
import type { ToolName } from "../../packages/provider/src/translation/tool-naming.ts";
import {
  responsesStream,
  translateResponse,
} from "../../packages/provider/src/responses/output/stream.ts";
import type { ChatStream } from "../../packages/provider/src/translation/chat/chat-stream.ts";
import { checkEvents, checkResponse } from "../support/documents/open-responses-rules.ts";
import { propertyRuns, propertyTimeoutMs, SEEDS } from "../support/property-runs.ts";
import { anyScript, type ChatScript, type Speech, scriptInOrder } from "./chat-script.ts";
import { asCompletion, asStream, eventsOf } from "./chat-encoding.ts";

const timeout = { timeout: propertyTimeoutMs };
const cuts = array(nat(), { maxLength: 8 });

const toolNames = new Map<string, ToolName>([
  ["f", { kind: "function", name: "f", namespace: undefined }],
  ["ns__g", { kind: "function", name: "g", namespace: "ns" }],
  ["patch", { kind: "custom", name: "patch", namespace: undefined }],
]);

function newStream(): ChatStream {
  return responsesStream(translatedRequest({ toolNames }), countingSource());
}

/** @returns the text of the Responses stream, the chat stream cut at these places */
function translated(chat: Buffer, cuts: number[]) {
  const stream = newStream();
  let text = stream.start();
  let from = 0;
  for (const cut of [
    ...cuts.map((place) => place % (chat.length + 1)).sort(ascending),
    chat.length,
  ]) {
    text += stream.push(chat.subarray(from, cut));
    from = cut;
  }
  const end = stream.end();
  return { text: text + end.text, isComplete: end.isComplete };
}

function ascending(left: number, right: number): number {
  return left - right;
}

/** The contents of the `data:` lines; each `event:` line has the same type. */
function dataIn(sse: string): unknown[] {
  const all: unknown[] = [];
  const reader = createSseReader(({ event, data }) => {
    const value: unknown = data === "[DONE]" ? data : JSON.parse(data);
    if (data !== "[DONE]") expect((value as Event).type).toBe(event);
    all.push(value);
  });
  reader.feed(sse);
  return all;
}

interface Event {
  type: string;
  response: { status: string; output: Item[]; usage: object | null };
}

interface Item {
  type: string;
  name?: string;
  namespace?: string;
  arguments?: string;
  input?: string;
  summary?: { text: string }[];
  content?: { type: string; text?: string; refusal?: string }[];
}

function lastEvent(data: unknown[]): Event {
  return data.at(-2) as Event;
}

/** Everything a client received in the end, joined by kind. */
function toldBy(output: Item[]) {
  const parts = output.flatMap(({ content = [] }) => content);
  return {
    reasoning: output.flatMap(({ summary = [] }) => summary.map(({ text }) => text)).join(""),
    text: parts.map(({ text = "" }) => text).join(""),
    refusal: parts.map(({ refusal = "" }) => refusal).join(""),
    calls: output
      .filter(({ type }) => type.endsWith("_call"))
      .map((item) => [item.namespace, item.name, item.arguments ?? item.input]),
  };
}

function saidBy(script: ChatScript) {
  const said = (...kinds: Speech["kind"][]) =>
    script.speech
      .filter(({ kind }) => kinds.includes(kind))
      .flatMap(({ pieces }) => pieces)
      .join("");
  return {
    reasoning: said("reasoning", "reasoning_content"),
    text: said("content"),
    refusal: said("refusal"),
    calls: script.calls.map((call) => {
      const tool = toolNames.get(call.name)!;
      const given = tool.kind === "custom" ? inputIn(call.arguments) : call.arguments;
      return [tool.namespace, tool.name, given];
    }),
  };
}

/** What the arguments of a custom tool give it; of arguments that were cut off, what its unit test knows. */
function inputIn(args: string): unknown {
  try {
    return (JSON.parse(args) as { input: string }).input;
  } catch {
    return expect.any(String);
  }
}

test.for(SEEDS)(
  "any chat stream becomes a stream that keeps the rules and says the same, wherever it is cut (seed %i)",
  timeout,
  (seed) => {
    assert(
      property(anyScript, cuts, (script, cuts) => {
        const { text, isComplete } = translated(asStream(script), cuts);
        expect(isComplete).toBe(true);
        const data = dataIn(text);
        expect(checkEvents(data)).toEqual([]);
        const { type, response } = lastEvent(data);
        const isCut = ["length", "content_filter"].includes(script.finishReason);
        expect(type).toBe(`response.${isCut ? "incomplete" : "completed"}`);
        expect(response.usage === null).toBe(script.usage === "none");
        expect(toldBy(response.output)).toEqual(saidBy(script));
        // Where it is cut, and how its lines end, changes nothing.
        const plain = { ...script.wire, lineEnd: "\n", hasNoise: false } as const;
        expect(translated(asStream({ ...script, wire: plain }), []).text).toBe(text);
      }),
      propertyRuns(seed, 400),
    );
  },
);

test.for(SEEDS)(
  "streamed or not, the same answer becomes the same response object (seed %i)",
  timeout,
  (seed) => {
    assert(
      property(scriptInOrder, (script) => {
        const streamed = lastEvent(dataIn(translated(asStream(script), []).text)).response;
        const body = Buffer.from(JSON.stringify(asCompletion(script)));
        const whole: unknown = JSON.parse(
          translateResponse(
            parseChatCompletion(body),
            translatedRequest({ toolNames }),
            countingSource(),
          ).toString(),
        );
        expect(checkResponse(whole)).toEqual([]);
        expect(streamed).toEqual(whole);
      }),
      propertyRuns(seed, 300),
    );
  },
);

test.for(SEEDS)(
  "a chat stream that stops anywhere has told the beginning of the whole, and an error ends it by the rules (seed %i)",
  timeout,
  (seed) => {
    assert(
      property(anyScript, nat(), (script, place) => {
        const chat = asStream(script);
        const whole = translated(chat, []).text;
        const stream = newStream();
        const begun = stream.start() + stream.push(chat.subarray(0, place % (chat.length + 1)));
        expect(whole.startsWith(begun)).toBe(true);

        // Before the finish reason: what follows it is not part of the response.
        const finish = eventsOf(script).findIndex((event) => event.includes(`_reason":"`));
        const events = eventsOf(script).slice(0, place % (finish + 1));
        expect(translated(Buffer.from(events.join("")), []).isComplete).toBe(false);
        const failed = translated(Buffer.from(`${events.join("")}data: {"error":"no"}\n\n`), []);
        expect(failed.isComplete).toBe(true);
        const data = dataIn(failed.text);
        expect(checkEvents(data)).toEqual([]);
        expect(lastEvent(data)).toMatchObject({
          type: "response.failed",
          response: { error: { code: "provider_error", message: "no" } },
        });
      }),
      propertyRuns(seed, 300),
    );
  },
);
