import { expect, test } from "vitest";
import {
  translatedRequest,
  chatChunk,
  chatData,
  chatDone,
  countingSource,
  eventsIn,
  translated,
  type StreamEvent,
} from "../response.fixture.ts";
import type { ToolName } from "../../translation/tool-naming.ts";
import { responsesStream } from "./stream.ts";

const hello =
  chatChunk({ role: "assistant", content: "" }) +
  chatChunk({ content: "Hel" }) +
  chatChunk({ content: "lo 🐻" }) +
  chatChunk({}, "stop") +
  chatData({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } }) +
  chatDone;

/** Each event in one line: its type and what is particular to it. */
function outline(events: StreamEvent[]): string[] {
  return events.map(({ type, output_index: at, delta }) => {
    const place = typeof at === "number" ? ` ${at}` : "";
    const text = delta === undefined ? "" : ` ${JSON.stringify(delta)}`;
    return `${type.replace("response.", "")}${place}${text}`;
  });
}

function finalResponse(events: StreamEvent[]) {
  return events.at(-1)?.["response"] as Record<string, unknown>;
}

function outputOf(chat: string, toolNames = new Map<string, ToolName>()) {
  return finalResponse(translated(chat, { toolNames }).events)["output"];
}

const call = (piece: object) => chatChunk({ tool_calls: [piece] });

test("text arrives as one message with one part, in the order clients rely on", () => {
  const { events, sse } = translated(hello);
  expect(outline(events)).toEqual([
    "created",
    "in_progress",
    "output_item.added 0",
    "content_part.added 0",
    'output_text.delta 0 "Hel"',
    'output_text.delta 0 "lo 🐻"',
    "output_text.done 0",
    "content_part.done 0",
    "output_item.done 0",
    "completed",
  ]);
  expect(events.map((event) => event["sequence_number"])).toEqual(events.map((_, index) => index));
  expect(sse.endsWith("\n\ndata: [DONE]\n\n")).toBe(true);
});

test("the last event carries the whole response, its usage and the provider's name of the model", () => {
  const named = chatData({ model: "real-model", choices: [] }) + hello;
  expect(finalResponse(translated(named).events)).toMatchObject({
    id: "resp_0",
    status: "completed",
    model: "real-model",
    created_at: 1_000,
    completed_at: 1_001,
    output: [
      {
        id: "msg_1",
        type: "message",
        status: "completed",
        role: "assistant",
        content: [{ type: "output_text", text: "Hello 🐻", annotations: [], logprobs: [] }],
      },
    ],
    usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
  });
});

test("the first two events are written before the provider says anything", () => {
  const stream = responsesStream(translatedRequest(), countingSource());
  const events = eventsIn(stream.start());
  expect(outline(events)).toEqual(["created", "in_progress"]);
  expect(events[1]).toMatchObject({
    response: {
      id: "resp_0",
      status: "in_progress",
      model: "requested-model",
      output: [],
      usage: null,
    },
  });
});

test("an event leaves as soon as its chunk is whole", () => {
  const stream = responsesStream(translatedRequest(), countingSource());
  stream.start();
  const chunk = chatChunk({ content: "now" });
  expect(stream.push(Buffer.from(chunk.slice(0, -1)))).toBe("");
  expect(outline(eventsIn(stream.push(Buffer.from("\n")))).at(-1)).toBe(
    'output_text.delta 0 "now"',
  );
});

test("reasoning is an item of its own, closed before the text begins", () => {
  const chat =
    chatChunk({ reasoning_content: "Let me" }) +
    chatChunk({ reasoning_content: " see" }) +
    chatChunk({ content: "42" }, "stop") +
    chatDone;
  const { events } = translated(chat);
  expect(outline(events).slice(2, 12)).toEqual([
    "output_item.added 0",
    "reasoning_summary_part.added 0",
    'reasoning_summary_text.delta 0 "Let me"',
    'reasoning_summary_text.delta 0 " see"',
    "reasoning_summary_text.done 0",
    "reasoning_summary_part.done 0",
    "output_item.done 0",
    "output_item.added 1",
    "content_part.added 1",
    'output_text.delta 1 "42"',
  ]);
  expect(events[2]).toMatchObject({ item: { type: "reasoning", summary: [] } });
  expect(finalResponse(events)["output"]).toMatchObject([
    { type: "reasoning", summary: [{ type: "summary_text", text: "Let me see" }] },
    { type: "message" },
  ]);
});

test("reasoning after text, and text after a call, open items of their own", () => {
  const chat =
    chatChunk({ content: "a" }) +
    chatChunk({ reasoning: "b" }) +
    call({ index: 0, id: "c", function: { name: "f", arguments: "{}" } }) +
    chatChunk({ content: "d" }, "stop");
  expect(outputOf(chat)).toMatchObject([
    { type: "message", status: "completed" },
    { type: "reasoning", status: "completed" },
    { type: "function_call", status: "completed" },
    { type: "message", status: "completed" },
  ]);
});

test("reasoning inside the text is left where it is", () => {
  expect(outputOf(chatChunk({ content: "<think>hm</think>Yes" }, "stop"))).toMatchObject([
    { type: "message", content: [{ text: "<think>hm</think>Yes" }] },
  ]);
});

test("a refusal is a part of its message, after the text", () => {
  const chat = chatChunk({ content: "Well, " }) + chatChunk({ refusal: "no." }, "stop") + chatDone;
  const { events } = translated(chat);
  expect(outline(events).slice(2, -1)).toEqual([
    "output_item.added 0",
    "content_part.added 0",
    'output_text.delta 0 "Well, "',
    "output_text.done 0",
    "content_part.done 0",
    "content_part.added 0",
    'refusal.delta 0 "no."',
    "refusal.done 0",
    "content_part.done 0",
    "output_item.done 0",
  ]);
  expect(finalResponse(events)["output"]).toMatchObject([
    { content: [{ type: "output_text" }, { type: "refusal", refusal: "no." }] },
  ]);
});

test("a call has its name at the beginning and at the end, and its arguments piece by piece", () => {
  const chat =
    call({
      index: 0,
      id: "call_a",
      type: "function",
      function: { name: "weather", arguments: "" },
    }) +
    call({ index: 0, function: { arguments: '{"city":' } }) +
    call({ index: 0, function: { arguments: '"Bonn"}' } }) +
    chatChunk({}, "tool_calls") +
    chatDone;
  const { events } = translated(chat);
  expect(outline(events).slice(2, -1)).toEqual([
    "output_item.added 0",
    'function_call_arguments.delta 0 "{\\"city\\":"',
    'function_call_arguments.delta 0 "\\"Bonn\\"}"',
    "function_call_arguments.done 0",
    "output_item.done 0",
  ]);
  expect(events[2]).toMatchObject({
    item: { id: "fc_1", call_id: "call_a", name: "weather", status: "in_progress", arguments: "" },
  });
  expect(events[5]).toMatchObject({
    item_id: "fc_1",
    name: "weather",
    arguments: '{"city":"Bonn"}',
  });
  expect(finalResponse(events)).toMatchObject({
    status: "completed",
    output: [{ type: "function_call", status: "completed", arguments: '{"city":"Bonn"}' }],
  });
});

test("a call that is whole is closed before the next one opens", () => {
  const chat =
    call({ index: 0, id: "a", function: { name: "f", arguments: '{"n":1}' } }) +
    call({ index: 1, id: "b", function: { name: "f", arguments: '{"n":2}' } }) +
    chatChunk({}, "tool_calls");
  expect(outline(translated(chat).events).slice(2, -1)).toEqual([
    "output_item.added 0",
    'function_call_arguments.delta 0 "{\\"n\\":1}"',
    "function_call_arguments.done 0",
    "output_item.done 0",
    "output_item.added 1",
    'function_call_arguments.delta 1 "{\\"n\\":2}"',
    "function_call_arguments.done 1",
    "output_item.done 1",
  ]);
});

test("calls whose pieces are mixed stay open side by side", () => {
  const chat =
    call({ index: 0, id: "a", function: { name: "f", arguments: "{" } }) +
    call({ index: 1, id: "b", function: { name: "g", arguments: "{" } }) +
    call({ index: 0, function: { arguments: "}" } }) +
    call({ index: 1, function: { arguments: "}" } }) +
    chatChunk({}, "tool_calls");
  const { events } = translated(chat);
  expect(outline(events).slice(2, -1)).toEqual([
    "output_item.added 0",
    'function_call_arguments.delta 0 "{"',
    "output_item.added 1",
    'function_call_arguments.delta 1 "{"',
    'function_call_arguments.delta 0 "}"',
    'function_call_arguments.delta 1 "}"',
    "function_call_arguments.done 0",
    "output_item.done 0",
    "function_call_arguments.done 1",
    "output_item.done 1",
  ]);
});

test("names lead back to the tools of the request; one that was not is kept as it is", () => {
  const toolNames = new Map<string, ToolName>([
    ["shell__run", { kind: "function", name: "run", namespace: "shell" }],
    ["apply_patch", { kind: "custom", name: "apply_patch", namespace: undefined }],
  ]);
  const chat =
    call({ index: 0, id: "a", function: { name: "shell__run", arguments: "{}" } }) +
    call({
      index: 1,
      id: "b",
      function: { name: "apply_patch", arguments: '{"input":"*** Begin\\nx"}' },
    }) +
    call({ index: 2, id: "c", function: { name: "invented", arguments: "{}" } }) +
    chatChunk({}, "tool_calls");
  expect(outputOf(chat, toolNames)).toEqual([
    {
      id: "fc_1",
      type: "function_call",
      status: "completed",
      call_id: "a",
      name: "run",
      namespace: "shell",
      arguments: "{}",
    },
    {
      id: "ctc_2",
      type: "custom_tool_call",
      status: "completed",
      call_id: "b",
      name: "apply_patch",
      input: "*** Begin\nx",
    },
    {
      id: "fc_3",
      type: "function_call",
      status: "completed",
      call_id: "c",
      name: "invented",
      arguments: "{}",
    },
  ]);
});

test("the text of a custom tool arrives while its arguments do", () => {
  const toolNames = new Map<string, ToolName>([
    ["patch", { kind: "custom", name: "patch", namespace: undefined }],
  ]);
  const chat =
    call({ index: 0, id: "a", function: { name: "patch", arguments: '{"inp' } }) +
    call({ index: 0, function: { arguments: 'ut": "one\\' } }) +
    call({ index: 0, function: { arguments: 'ntwo"' } }) +
    call({ index: 0, function: { arguments: "}" } }) +
    chatChunk({}, "tool_calls");
  const { events } = translated(chat, { toolNames });
  expect(outline(events).slice(2, -1)).toEqual([
    "output_item.added 0",
    'custom_tool_call_input.delta 0 "one"',
    'custom_tool_call_input.delta 0 "\\ntwo"',
    "custom_tool_call_input.done 0",
    "output_item.done 0",
  ]);
  expect(events[5]).toMatchObject({ input: "one\ntwo" });
});

test.each([
  ["stop", "completed", null],
  ["tool_calls", "completed", null],
  ["function_call", "completed", null],
  ["length", "incomplete", { reason: "max_output_tokens" }],
  ["content_filter", "incomplete", { reason: "content_filter" }],
])("finish reason %s is %s", (reason, status, details) => {
  const { events } = translated(chatChunk({ content: "a" }) + chatChunk({}, reason) + chatDone);
  expect(events.at(-1)?.type).toBe(`response.${status}`);
  expect(finalResponse(events)).toMatchObject({
    status,
    incomplete_details: details,
    output: [{ status }],
  });
});

test("of a response cut short, only what was open is incomplete", () => {
  const chat =
    chatChunk({ content: "a" }) +
    call({ index: 0, id: "a", function: { name: "f", arguments: "{}" } }) +
    call({ index: 1, id: "b", function: { name: "f", arguments: '{"n":' } }) +
    chatChunk({}, "length");
  expect(outputOf(chat)).toMatchObject([
    { status: "completed" },
    { status: "completed" },
    { status: "incomplete", arguments: '{"n":' },
  ]);
});

test.each([
  ["in a chunk of its own", chatChunk({}, "stop") + chatData({ choices: [], usage: counts() }), 7],
  [
    "with the finish reason",
    chatData({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage: counts() }),
    7,
  ],
  ["nowhere", chatChunk({}, "stop"), undefined],
  [
    "as null",
    chatData({ choices: [{ delta: {}, finish_reason: "stop" }], usage: null }),
    undefined,
  ],
])("usage %s is passed on as it is", (_where, chat, total) => {
  const { usage } = finalResponse(translated(chat + chatDone).events) as { usage: object | null };
  expect(usage === null ? undefined : usage).toEqual(
    total === undefined ? undefined : expect.objectContaining({ total_tokens: total }),
  );
});

function counts() {
  return { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
}

test("empty deltas open no item, and a response of nothing has no output", () => {
  const chat =
    chatChunk({ role: "assistant", content: "", refusal: null }) +
    chatChunk({ content: null, reasoning_content: "", tool_calls: [] }) +
    chatChunk({}, "stop") +
    chatDone;
  const { events } = translated(chat);
  expect(outline(events)).toEqual(["created", "in_progress", "completed"]);
  expect(finalResponse(events)["output"]).toEqual([]);
});

test("other choices than the first are ignored", () => {
  const chat =
    chatData({ choices: [{ index: 1, delta: { content: "no" }, finish_reason: "length" }] }) +
    chatData({
      choices: [
        { index: 1, delta: { content: "no" } },
        { index: 0, delta: { content: "yes" }, finish_reason: "stop" },
      ],
    });
  expect(outputOf(chat)).toMatchObject([{ content: [{ text: "yes" }], status: "completed" }]);
});

test("log probabilities travel with their text", () => {
  const token = { token: "é", logprob: -0.5, bytes: null, top_logprobs: [] };
  const chat = chatData({
    choices: [
      { index: 0, delta: { content: "é" }, logprobs: { content: [token] }, finish_reason: "stop" },
    ],
  });
  const { events } = translated(chat);
  const logprobs = [{ token: "é", logprob: -0.5, bytes: [195, 169], top_logprobs: [] }];
  expect(events[4]).toMatchObject({ type: "response.output_text.delta", logprobs });
  expect(events[5]).toMatchObject({ type: "response.output_text.done", logprobs });
  expect(finalResponse(events)["output"]).toMatchObject([{ content: [{ logprobs }] }]);
});

test.each([
  ["in OpenAI's shape", chatData({ error: { message: "out of memory", code: 500 } })],
  ["as text", chatData({ error: "out of memory" })],
  ["in an event of its own name", "event: error\ndata: out of memory\n\n"],
  ["in a field of its own name", 'error: {"code":500,"message":"out of memory"}\n\n'],
])("an error %s ends the stream as a failure that every SDK reads", (_shape, error) => {
  const { events, sse, isComplete } = translated(
    chatChunk({ content: "a" }) + error + chatChunk({ content: "b" }, "stop") + chatDone,
  );
  const [failure, failed] = events.slice(-2);
  const code = error.includes("500") ? "500" : "provider_error";
  expect(failure).toEqual({
    type: "error",
    sequence_number: 5,
    error: { message: "out of memory", type: "server_error", param: "", code },
    code,
    message: "out of memory",
    param: "",
  });
  expect(failed).toMatchObject({
    type: "response.failed",
    sequence_number: 6,
    response: {
      id: "resp_0",
      status: "failed",
      error: { code, message: "out of memory" },
      output: [{ type: "message", status: "incomplete", content: [{ text: "a" }] }],
    },
  });
  expect(sse.endsWith("\n\ndata: [DONE]\n\n")).toBe(true);
  expect(isComplete).toBe(true);
});

test("an end without a finish reason is no end, and nothing is claimed", () => {
  const { events, isComplete, isBroken } = translated(chatChunk({ content: "a" }));
  expect(outline(events).at(-1)).toBe('output_text.delta 0 "a"');
  expect({ isComplete, isBroken }).toEqual({ isComplete: false, isBroken: false });
});

test.each([
  ["[DONE] without a finish reason", chatChunk({ content: "a" }) + chatDone],
  ["a finish reason without [DONE]", chatChunk({ content: "a" }, "stop")],
  ["a [DONE] without its blank line", chatChunk({ content: "a" }) + "data: [DONE]"],
  ["a cut in what follows the finish reason", chatChunk({ content: "a" }, "stop") + 'data: {"cho'],
])("%s is the end", (_what, chat) => {
  const { events, isComplete } = translated(chat);
  expect(events.at(-1)?.type).toBe("response.completed");
  expect(isComplete).toBe(true);
});

test("data that is no JSON breaks the stream after what came before it", () => {
  const { events, isComplete, isBroken } = translated(
    chatChunk({ content: "a" }) +
      "data: <html>\n\n" +
      chatChunk({ content: "b" }, "stop") +
      chatDone,
  );
  expect(outline(events).at(-1)).toBe('output_text.delta 0 "a"');
  expect({ isComplete, isBroken }).toEqual({ isComplete: false, isBroken: true });
});

test("comments, empty events and JSON that says nothing are passed over", () => {
  const noise = ": ping\n\ndata:\n\ndata: null\n\ndata: 7\n\ndata: {}\n\nid: 4\nretry: 9\n\n";
  expect(translated(noise + hello.replaceAll("\n\n", `\n\n${noise}`)).sse).toBe(
    translated(hello).sse,
  );
});

const toolStream =
  chatChunk({ reasoning: "hm…" }) +
  call({ index: 0, id: "a", function: { name: "f", arguments: '{"x":"é' } }) +
  call({ index: 1, id: "b", function: { name: "g", arguments: "{}" } }) +
  call({ index: 0, function: { arguments: '🐻"}' } }) +
  chatChunk({}, "tool_calls");
const failingStream = chatChunk({ content: "ü" }) + chatData({ error: { message: "überlastet" } });

test.each([
  ["text", hello],
  ["text with CRLF", hello.replaceAll("\n", "\r\n")],
  ["text with CR", hello.replaceAll("\n", "\r")],
  ["text without the blank after the colon", hello.replaceAll("data: ", "data:")],
  ["tool calls", toolStream],
  ["a failure", failingStream],
  ["a failure in a field of its own", failingStream.replace('data: {"error":', "error: ")],
  ["bytes that are no UTF-8", hello.replaceAll("Hel", "H\xffl")],
])("%s is the same cut at every byte", (_what, chat) => {
  const bytes = Buffer.from(chat, chat.includes("\xff") ? "latin1" : "utf8");
  const cutAt = (cuts: number[]) => {
    const stream = responsesStream(translatedRequest(), countingSource());
    let text = stream.start();
    let from = 0;
    for (const cut of [...cuts, bytes.length]) {
      text += stream.push(bytes.subarray(from, cut));
      from = cut;
    }
    return text + stream.end().text;
  };
  const whole = cutAt([]);
  expect(eventsIn(whole).length).toBeGreaterThan(5);
  for (let cut = 0; cut <= bytes.length; cut++) expect(cutAt([cut])).toBe(whole);
  expect(cutAt([...bytes.keys()])).toBe(whole);
});

test.each(["\r\n", "\r"])("line ends %j make no difference", (lineEnd) => {
  expect(translated(hello.replaceAll("\n", lineEnd)).sse).toBe(translated(hello).sse);
});

test("a response longer than what may be held breaks the stream, one as long does not", () => {
  const limit = 1_024 + 10;
  const stateAfter = (length: number) => {
    const stream = responsesStream(translatedRequest(), countingSource(), limit);
    stream.start();
    for (let sent = 0; sent < length; sent++) stream.push(Buffer.from(chatChunk({ content: "x" })));
    return { isBroken: stream.isBroken, after: stream.push(Buffer.from(chatDone)) !== "" };
  };
  expect(stateAfter(10)).toEqual({ isBroken: false, after: true });
  expect(stateAfter(11)).toEqual({ isBroken: true, after: false });
});

test("an event without an end is not held for ever", () => {
  const stream = responsesStream(translatedRequest(), countingSource(), 100);
  stream.start();
  for (let sent = 0; sent < 10; sent++) stream.push(Buffer.from(chatChunk({})));
  stream.push(Buffer.from(`data: ${"x".repeat(94)}`));
  expect(stream.isBroken).toBe(false);
  stream.push(Buffer.from("x"));
  expect(stream.isBroken).toBe(true);
});
