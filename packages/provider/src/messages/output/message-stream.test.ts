import { describe, expect, test } from "vitest";
import { checkMessageEvents } from "../../../../../tests/support/documents/message-rules.ts";
import { chatChunk, chatData, chatDone, countingSource } from "../../responses/response.fixture.ts";
import { messageEventsIn, type MessageEvent, streamed, translated } from "../message.fixture.ts";
import { messageStream } from "./message-stream.ts";

const call = (piece: object) => chatChunk({ tool_calls: [piece] });
const stop = chatChunk({}, "stop") + chatDone;
const thinking = { thinking: { type: "enabled", budget_tokens: 1_024 } };

/** Each event in a word or two. */
function outline(events: MessageEvent[]): string[] {
  return events.map((event) => {
    const {
      type,
      index,
      delta,
      content_block: block,
    } = event as MessageEvent & {
      delta?: Record<string, unknown>;
      content_block?: { type: string; name?: string };
    };
    switch (type) {
      case "content_block_start":
        return `${String(index)} ${block?.name ?? block?.type}`;
      case "content_block_delta":
        return `${String(index)} + ${String(Object.values(delta ?? {})[1])}`;
      case "content_block_stop":
        return `${String(index)} .`;
      case "message_delta":
        return String(delta?.["stop_reason"]);
      default:
        return type;
    }
  });
}

function outlineOf(chat: string, requested: Record<string, unknown> = {}): string[] {
  const { events } = streamed(chat, requested);
  expect(checkMessageEvents(events)).toEqual([]);
  return outline(events);
}

test("text is one block, and the message begins with the first of it", () => {
  const stream = messageStream(translated({ stream: true }), countingSource());
  expect(stream.start()).toBe("");
  expect(stream.push(Buffer.from(chatChunk({ role: "assistant", content: "" })))).toBe("");
  const begun = messageEventsIn(stream.push(Buffer.from(chatChunk({ content: "Hel" }))));
  expect(outline(begun)).toEqual(["message_start", "0 text", "0 + Hel"]);
  expect(begun[0]).toEqual({
    type: "message_start",
    message: {
      id: "msg_0",
      type: "message",
      role: "assistant",
      model: "llama",
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: {
        input_tokens: 0,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        output_tokens: 0,
      },
    },
  });
  const usage = {
    prompt_tokens: 9,
    completion_tokens: 2,
    prompt_tokens_details: { cached_tokens: 4 },
  };
  const rest = chatChunk({ content: "lo" }) + chatChunk({}, "stop");
  const ended = stream.push(Buffer.from(rest + chatData({ choices: [], usage }) + chatDone));
  expect(outline(messageEventsIn(ended))).toEqual(["0 + lo", "0 .", "end_turn", "message_stop"]);
  expect(messageEventsIn(ended).at(-2)).toEqual({
    type: "message_delta",
    delta: { stop_reason: "end_turn", stop_sequence: null },
    usage: {
      input_tokens: 5,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 4,
      output_tokens: 2,
    },
  });
  expect(stream.end()).toEqual({ text: "", isComplete: true });
});

describe("reasoning", () => {
  const chat =
    chatChunk({ reasoning_content: "Hm" }) +
    chatChunk({ reasoning_content: "." }) +
    chatChunk({ content: "4" }) +
    stop;

  test("is a signed block of its own where the client requested thinking", () => {
    expect(outlineOf(chat, thinking)).toEqual([
      "message_start",
      ...["0 thinking", "0 + Hm", "0 + .", "0 + cm9vbWh1Yg==", "0 ."],
      ...["1 text", "1 + 4", "1 .", "end_turn", "message_stop"],
    ]);
  });

  test("is left out where it did not", () => {
    expect(outlineOf(chat)).toEqual([
      ...["message_start", "0 text", "0 + 4", "0 .", "end_turn", "message_stop"],
    ]);
  });

  test("that is left out shows from time to time that the stream goes on", () => {
    const long = Array.from({ length: 12 }, () => chatChunk({ reasoning: "hm" })).join("");
    const { sse } = streamed(long + chatChunk({ content: "4" }) + stop);
    // A second passes with each look at the clock.
    expect(sse.match(/^: generating$/gm)).toHaveLength(2);
    expect(sse.startsWith("event: message_start\n")).toBe(true);
  });
});

describe("tool calls", () => {
  const f = (index: number, args: string, more: object = {}) =>
    call({ index, function: { arguments: args }, ...more });
  const begin = (index: number, name: string, args = "") =>
    call({ index, id: `call_${index}`, type: "function", function: { name, arguments: args } });

  test("have their input as it arrives, and end the turn whatever the reason is", () => {
    for (const end of [chatChunk({}, "stop"), chatChunk({}, "tool_calls"), ""]) {
      const chat = begin(0, "f") + f(0, '{"a"') + f(0, ":1}") + end + chatDone;
      expect(outlineOf(chat)).toEqual([
        "message_start",
        ...["0 f", '0 + {"a"', "0 + :1}", "0 ."],
        ...["tool_use", "message_stop"],
      ]);
    }
  });

  test("wait for the one before, when their pieces come in turns", () => {
    const chat = begin(0, "f", '{"a"') + begin(1, "g", '{"b"') + f(1, ":2}") + f(0, ":1}") + stop;
    expect(outlineOf(chat)).toEqual([
      "message_start",
      ...["0 f", '0 + {"a"', "0 + :1}", "0 ."],
      ...["1 g", '1 + {"b":2}', "1 ."],
      ...["tool_use", "message_stop"],
    ]);
  });

  test("are not ended by text that comes in between", () => {
    const chat =
      begin(0, "f", '{"a"') +
      chatChunk({ content: "So" }) +
      f(0, ":1}") +
      chatChunk({ content: "!" });
    expect(outlineOf(chat + stop)).toEqual([
      "message_start",
      ...["0 f", '0 + {"a"', "0 + :1}", "0 ."],
      ...["1 text", "1 + So", "1 + !", "1 ."],
      ...["tool_use", "message_stop"],
    ]);
  });

  test("without arguments have an empty input", () => {
    expect(outlineOf(begin(0, "f") + stop)).toEqual([
      ...["message_start", "0 f", "0 .", "tool_use", "message_stop"],
    ]);
  });

  test("whose arguments are no object are passed on as they came", () => {
    expect(outlineOf(begin(0, "f", "[1,") + f(0, "2]") + stop)).toContain("0 + [1,");
    expect(outlineOf(begin(0, "f", '{"a":') + chatChunk({}, "length") + chatDone)).toEqual([
      ...["message_start", "0 f", '0 + {"a":', "0 .", "max_tokens", "message_stop"],
    ]);
  });

  test("have the client's names and ids of their own", () => {
    const name = "n".repeat(80);
    const tools = [{ name, input_schema: { type: "object" } }];
    const named = translated({ tools }).chat["tools"] as { function: { name: string } }[];
    const chatName = named[0]!.function.name;
    const { events } = streamed(begin(0, chatName, "{}") + stop, { tools });
    expect(events[1]?.["content_block"]).toEqual({
      type: "tool_use",
      id: "call_0",
      name,
      input: {},
    });
    const earlier = [
      { role: "user", content: "go" },
      { role: "assistant", content: [{ type: "tool_use", id: "call_0", name: "f", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "call_0" }] },
    ];
    const second = streamed(begin(0, "f", "{}") + stop, { messages: earlier });
    expect(second.events[1]?.["content_block"]).toMatchObject({ id: "toolu_1" });
  });

  test("that keep too much waiting break the stream", () => {
    const much = "x".repeat(600_000);
    const { isBroken } = streamed(
      begin(0, "f", '{"a"') + begin(1, "g", `{"b":"${much}`) + f(1, much),
    );
    expect(isBroken).toBe(true);
  });
});

describe("the reason of the end", () => {
  const reasonOf = (chat: string) => {
    const { events } = streamed(chatChunk({ content: "a" }) + chat + chatDone);
    return events.at(-2)?.["delta"];
  };

  test.each([
    ["stop", "end_turn"],
    ["length", "max_tokens"],
    ["model_length", "max_tokens"],
    ["content_filter", "refusal"],
    ["eos", "end_turn"],
  ])("%s is %s", (finishReason, reason) => {
    expect(reasonOf(chatChunk({}, finishReason))).toEqual({
      stop_reason: reason,
      stop_sequence: null,
    });
  });

  test("is the stop text that vLLM names", () => {
    const finish = (stop_reason: unknown) =>
      chatData({ choices: [{ index: 0, delta: {}, finish_reason: "stop", stop_reason }] });
    expect(reasonOf(finish("END"))).toEqual({ stop_reason: "stop_sequence", stop_sequence: "END" });
    for (const other of [151_645, null]) {
      expect(reasonOf(finish(other))).toEqual({ stop_reason: "end_turn", stop_sequence: null });
    }
  });

  test("is a refusal when the model says so in a field of its own", () => {
    const { events } = streamed(chatChunk({ refusal: "No." }) + stop);
    expect(outline(events)).toEqual([
      ...["message_start", "0 text", "0 + No.", "0 .", "refusal", "message_stop"],
    ]);
  });

  test.each(["error", "abort"])("%s is an error, since the message is not whole", (reason) => {
    const { events } = streamed(chatChunk({ content: "a" }) + chatChunk({}, reason) + chatDone);
    expect(checkMessageEvents(events)).toEqual([]);
    expect(events.at(-1)).toMatchObject({ type: "error", error: { type: "api_error" } });
  });
});

describe("a stream that fails", () => {
  test("says in Anthropic's words that the prompt is too long", () => {
    const message = "request (9030 tokens) exceeds the available context size (4096 tokens)";
    const error = { message, type: "exceed_context_size_error", code: 400 };
    const { events } = streamed(chatData({ error }));
    const words = expect.stringMatching(/^prompt is too long: 9030 tokens > 4096 maximum/);
    expect(events.at(-1)).toMatchObject({
      error: { type: "invalid_request_error", message: words },
    });
  });

  test("ends with the provider's error in Anthropic's shape", () => {
    const error = { message: "Slow down.", type: "rate_limit_error", code: 429 };
    const { events, isComplete } = streamed(chatChunk({ content: "a" }) + chatData({ error }));
    expect(isComplete).toBe(true);
    expect(events.at(-1)).toEqual({
      type: "error",
      error: { type: "rate_limit_error", message: "Slow down." },
    });
  });

  test("is not complete without a finish reason, and says nothing of it", () => {
    const { events, isComplete } = streamed(chatChunk({ content: "a" }));
    expect(isComplete).toBe(false);
    expect(outline(events)).toEqual(["message_start", "0 text", "0 + a"]);
  });
});

test("llama.cpp's own counts stand in for a usage that was not sent", () => {
  const timings = { cache_n: 29, prompt_n: 1, predicted_n: 4 };
  const finish = { choices: [{ index: 0, delta: {}, finish_reason: "stop" }], timings };
  const { events } = streamed(chatChunk({ content: "a" }) + chatData(finish) + chatDone);
  expect(events.at(-2)?.["usage"]).toMatchObject({
    input_tokens: 1,
    cache_read_input_tokens: 29,
    output_tokens: 4,
  });
});
