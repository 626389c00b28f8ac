import { parseChatCompletion } from "../../packages/provider/src/translation/chat/chat-choice.ts";
import {
  array,
  assert,
  boolean,
  constantFrom,
  jsonValue,
  nat,
  oneof,
  property,
  record,
  string,
} from "fast-check";
import { expect, test } from "vitest";
import { messageEventsIn } from "../../packages/provider/src/messages/message.fixture.ts";
import { messageStream } from "../../packages/provider/src/messages/output/message-stream.ts";
import { translateMessage } from "../../packages/provider/src/messages/output/whole-message.ts";
import type { TranslatedMessage } from "../../packages/provider/src/messages/request/request.ts";
import { countingSource } from "../../packages/provider/src/responses/response.fixture.ts";
import {
  type FoldedBlock,
  type FoldedMessage,
  foldMessage,
} from "../support/documents/fold-message.ts";
import { checkMessageEvents } from "../support/documents/message-rules.ts";
import { propertyRuns, propertyTimeoutMs, SEEDS } from "../support/property-runs.ts";
import { asCompletion, asStream, eventsOf } from "./chat-encoding.ts";
import { anyScript, type ChatScript, scriptInOrder, type Speech } from "./chat-script.ts";
import { NotChatError } from "../../packages/provider/src/translation/chat/chat-choice.ts";

const timeout = { timeout: propertyTimeoutMs };
const cuts = array(nat(), { maxLength: 8 });

function request(showsThinking: boolean): TranslatedMessage {
  return {
    chat: { messages: [] },
    model: "requested-model",
    isStream: true,
    toolNames: new Map([["ns__g", { kind: "function", name: "g", namespace: undefined }]]),
    callIds: new Set(),
    showsThinking,
  };
}

/** @returns the text of the messages stream, the chat stream cut at these places */
function translated(chat: Buffer, places: number[], showsThinking = true) {
  const stream = messageStream(request(showsThinking), countingSource());
  let text = stream.start();
  let from = 0;
  const sorted = places.map((place) => place % (chat.length + 1)).sort((a, b) => a - b);
  for (const cut of [...sorted, chat.length]) {
    text += stream.push(chat.subarray(from, cut));
    from = cut;
  }
  const end = stream.end();
  return { text: text + end.text, isComplete: end.isComplete };
}

/** Everything a client received in the end, joined by kind. */
function toldBy({ content }: FoldedMessage) {
  const said = (type: FoldedBlock["type"]) => content.filter((block) => block.type === type);
  return {
    thinking: said("thinking")
      .map((block) => ("thinking" in block ? block.thinking : ""))
      .join(""),
    text: said("text")
      .map((block) => ("text" in block ? block.text : ""))
      .join(""),
    calls: said("tool_use").map((block) => ("input" in block ? [block.name, block.input] : [])),
  };
}

function saidBy(script: ChatScript, showsThinking: boolean) {
  const said = (...kinds: Speech["kind"][]) =>
    script.speech
      .filter(({ kind }) => kinds.includes(kind))
      .flatMap(({ pieces }) => pieces)
      .join("");
  return {
    thinking: showsThinking ? said("reasoning", "reasoning_content") : "",
    text: said("content", "refusal"),
    calls: script.calls.map(({ name, arguments: args }) => [name === "ns__g" ? "g" : name, args]),
  };
}

function reasonOf({ finishReason, calls, speech }: ChatScript): string {
  if (finishReason === "length") return "max_tokens";
  if (finishReason === "content_filter") return "refusal";
  if (calls.length > 0) return "tool_use";
  const isRefusal = speech.some(({ kind, pieces }) => kind === "refusal" && pieces.join("") !== "");
  return isRefusal ? "refusal" : "end_turn";
}

test.for(SEEDS)(
  "any chat stream becomes a message whose events are in order and say the same, wherever it is cut (seed %i)",
  timeout,
  (seed) => {
    assert(
      property(anyScript, cuts, boolean(), (script, places, showsThinking) => {
        const { text, isComplete } = translated(asStream(script), places, showsThinking);
        expect(isComplete).toBe(true);
        const events = messageEventsIn(text);
        expect(checkMessageEvents(events)).toEqual([]);
        const message = foldMessage(events);
        expect(toldBy(message)).toEqual(saidBy(script, showsThinking));
        expect(message.stop_reason).toBe(reasonOf(script));
        const counted = script.usage === "none" ? 0 : 7;
        expect(message.usage["input_tokens"]).toBe(counted);
        // Where it is cut, and how its lines end, changes nothing.
        const plain = { ...script.wire, lineEnd: "\n", hasNoise: false } as const;
        const same = translated(asStream({ ...script, wire: plain }), [], showsThinking);
        expect(same.text).toBe(text);
      }),
      propertyRuns(seed, 400),
    );
  },
);

test.for(SEEDS)(
  "streamed or not, the same completion becomes the same message (seed %i)",
  timeout,
  (seed) => {
    assert(
      property(scriptInOrder, (script) => {
        const streamed = foldMessage(messageEventsIn(translated(asStream(script), []).text));
        const body = Buffer.from(JSON.stringify(asCompletion(script)));
        const whole = JSON.parse(
          translateMessage(parseChatCompletion(body), request(true), countingSource()).toString(),
        ) as { content: object[] } & Record<string, unknown>;
        const content = streamed.content.map((block) =>
          block.type === "tool_use"
            ? { ...block, id: expect.any(String), input: inputIn(block.input) }
            : block,
        );
        expect(whole["content"]).toEqual(content);
        expect(whole["stop_reason"]).toBe(streamed.stop_reason);
        expect(whole["usage"]).toEqual(streamed.usage);
      }),
      propertyRuns(seed, 300),
    );
  },
);

/** Arguments that were cut off are no object. */
function inputIn(text: string): unknown {
  try {
    return JSON.parse(text === "" ? "{}" : text);
  } catch {
    return {};
  }
}

test.for(SEEDS)(
  "a chat stream that stops anywhere has told the beginning of the whole, and an error ends it by the rules (seed %i)",
  timeout,
  (seed) => {
    assert(
      property(anyScript, nat(), (script, place) => {
        const chat = asStream(script);
        const whole = translated(chat, []).text;
        const stream = messageStream(request(true), countingSource());
        const begun = stream.start() + stream.push(chat.subarray(0, place % (chat.length + 1)));
        expect(whole.startsWith(begun)).toBe(true);

        const finish = eventsOf(script).findIndex((event) => event.includes(`_reason":"`));
        const events = eventsOf(script).slice(0, place % (finish + 1));
        expect(translated(Buffer.from(events.join("")), []).isComplete).toBe(false);
        const failed = translated(Buffer.from(`${events.join("")}data: {"error":"no"}\n\n`), []);
        expect(failed.isComplete).toBe(true);
        const said = messageEventsIn(failed.text);
        expect(checkMessageEvents(said)).toEqual([]);
        expect(said.at(-1)).toEqual({
          type: "error",
          error: { type: "api_error", message: "no" },
        });
      }),
      propertyRuns(seed, 300),
    );
  },
);

const anything = jsonValue({ maxDepth: 2 });
const word = oneof(string(), constantFrom("{", "}", '{"a":1}', "[]", "f", "call_1", ""), anything);
const strangeCall = record(
  {
    index: oneof(nat(2), anything),
    id: word,
    function: record({ name: word, arguments: word }, { requiredKeys: [] }),
  },
  { requiredKeys: [] },
);
const strangeChunk = record({
  choices: array(
    record(
      {
        index: constantFrom(0, 0, 0, 1, null),
        delta: record(
          {
            content: word,
            reasoning: word,
            refusal: word,
            tool_calls: oneof(array(strangeCall, { maxLength: 3 }), anything),
          },
          { requiredKeys: [] },
        ),
        finish_reason: oneof(constantFrom("stop", "length", "tool_calls", null), anything),
        stop_reason: anything,
      },
      { requiredKeys: ["delta"] },
    ),
    { maxLength: 2 },
  ),
  usage: anything,
  model: anything,
});

test.for(SEEDS)(
  "whatever the chunks of a chat stream contain, the events are in order (seed %i)",
  timeout,
  (seed) => {
    assert(
      property(array(oneof({ weight: 9, arbitrary: strangeChunk }, anything)), (chunks) => {
        const said = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("");
        const { text, isComplete } = translated(Buffer.from(`${said}data: [DONE]\n\n`), []);
        expect(isComplete).toBe(true);
        expect(checkMessageEvents(messageEventsIn(text))).toEqual([]);
      }),
      propertyRuns(seed, 1_000),
    );
  },
);

test.for(SEEDS)(
  "whatever a completion contains, it becomes a message or is none (seed %i)",
  timeout,
  (seed) => {
    assert(
      property(strangeChunk, (chunk) => {
        const choices = chunk.choices.map(({ delta, ...choice }) => ({
          ...choice,
          message: delta,
        }));
        const body = Buffer.from(JSON.stringify({ ...chunk, choices }));
        try {
          const made = translateMessage(parseChatCompletion(body), request(true), countingSource());
          expect(JSON.parse(made.toString())).toMatchObject({
            type: "message",
            content: expect.any(Array),
            stop_reason: expect.any(String),
            usage: { input_tokens: expect.any(Number), output_tokens: expect.any(Number) },
          });
        } catch (error) {
          if (!(error instanceof NotChatError)) throw error;
        }
      }),
      propertyRuns(seed, 1_000),
    );
  },
);
