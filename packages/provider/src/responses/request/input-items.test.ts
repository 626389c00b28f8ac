import { expect, test } from "vitest";
import { messagesOf, refusalOf, translated } from "../translate.fixture.ts";

const send = { role: "user", content: "ask" };

function say(text: string) {
  return {
    type: "message",
    id: "msg_1",
    role: "assistant",
    status: "completed",
    phase: "final_answer",
    content: [{ type: "output_text", text }],
  };
}

function think(text: string) {
  return { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text }] };
}

function call(id: string) {
  return {
    type: "function_call",
    id: "fc_1",
    call_id: id,
    name: "look",
    arguments: `{"n":"${id}"}`,
  };
}

function output(id: string, output: unknown = `seen ${id}`) {
  return { type: "function_call_output", call_id: id, output };
}

function toolCall(id: string, name = "look", args = `{"n":"${id}"}`) {
  return { id, type: "function", function: { name, arguments: args } };
}

function tool(id: string, content = `seen ${id}`) {
  return { role: "tool", tool_call_id: id, content };
}

function calling(...ids: string[]) {
  return { role: "assistant", content: null, tool_calls: ids.map((id) => toolCall(id)) };
}

test("a string is one user message", () => {
  expect(messagesOf("ask")).toEqual([send]);
});

test("a message needs no type", () => {
  expect(messagesOf([send, { role: "assistant", content: "answer" }])).toEqual([
    send,
    { role: "assistant", content: "answer" },
  ]);
});

test("instructions and leading system and developer texts are one system message", () => {
  const input = [
    { role: "developer", content: "b" },
    { role: "system", content: [{ type: "input_text", text: "c" }] },
    send,
  ];
  expect(messagesOf(input, { instructions: "a" })).toEqual([
    { role: "system", content: "a\n\nb\n\nc" },
    send,
  ]);
});

test("system and developer texts in the middle stay where they are, as system messages", () => {
  const input = [send, { role: "developer", content: "a" }, { role: "system", content: "b" }, send];
  expect(messagesOf(input)).toEqual([
    send,
    { role: "system", content: "a" },
    { role: "system", content: "b" },
    send,
  ]);
});

test("empty instructions are no message", () => {
  expect(messagesOf([send], { instructions: "" })).toEqual([send]);
});

test("instructions alone are enough", () => {
  expect(messagesOf(null, { instructions: "a" })).toEqual([{ role: "system", content: "a" }]);
});

test("two assistant messages stay two", () => {
  expect(messagesOf([send, say("a"), say("b")])).toEqual([
    send,
    { role: "assistant", content: "a" },
    { role: "assistant", content: "b" },
  ]);
});

test("consecutive calls are one assistant message, and their outputs follow", () => {
  expect(messagesOf([send, call("1"), call("2"), output("1"), output("2"), send])).toEqual([
    send,
    calling("1", "2"),
    tool("1"),
    tool("2"),
    send,
  ]);
});

test("calls join the text before them", () => {
  expect(messagesOf([send, say("a"), say("b"), call("1"), output("1")])).toEqual([
    send,
    { role: "assistant", content: "a" },
    { role: "assistant", content: "b", tool_calls: [toolCall("1")] },
    tool("1"),
  ]);
});

test("one call after the other is two assistant messages", () => {
  expect(messagesOf([send, call("1"), output("1"), call("2"), output("2")])).toEqual([
    send,
    calling("1"),
    tool("1"),
    calling("2"),
    tool("2"),
  ]);
});

test("text between a call and its output joins the call, since nothing may stand between them", () => {
  expect(messagesOf([send, call("1"), say("a"), output("1"), say("b")])).toEqual([
    send,
    { role: "assistant", content: "a", tool_calls: [toolCall("1")] },
    tool("1"),
    { role: "assistant", content: "b" },
  ]);
});

test("an output goes to its call when others spoke in between", () => {
  const input = [
    call("1"),
    send,
    call("2"),
    output("2"),
    { role: "system", content: "s" },
    output("1"),
  ];
  expect(messagesOf(input)).toEqual([
    calling("1"),
    tool("1"),
    send,
    calling("2"),
    tool("2"),
    { role: "system", content: "s" },
  ]);
});

test("an output goes to the last call of its id, for servers that count calls from zero each time", () => {
  const input = [call("0"), output("0", "a"), send, call("0"), output("0", "b")];
  expect(messagesOf(input)).toEqual([
    calling("0"),
    tool("0", "a"),
    send,
    calling("0"),
    tool("0", "b"),
  ]);
});

test("an output without a call is still sent, at its place", () => {
  expect(messagesOf([send, output("9"), send])).toEqual([send, tool("9"), send]);
});

test("a call without an output is still sent", () => {
  expect(messagesOf([send, call("1"), send])).toEqual([send, calling("1"), send]);
});

test("images of outputs are a user message after the last output of the group", () => {
  const image = { type: "input_image", image_url: "data:a" };
  const outputs = [output("1", [image, { type: "input_text", text: "a" }]), output("2", [image])];
  const part = { type: "image_url", image_url: { url: "data:a" } };
  expect(messagesOf([call("1"), call("2"), ...outputs, send])).toEqual([
    calling("1", "2"),
    tool("1", "a"),
    tool("2", ""),
    { role: "user", content: [part, part] },
    send,
  ]);
});

test("the texts of an output are joined", () => {
  const parts = ["a", "b"].map((text) => ({ type: "input_text", text }));
  expect(messagesOf([call("1"), output("1", parts)])).toEqual([calling("1"), tool("1", "a\nb")]);
});

test.each([
  ["summary", { summary: [{ type: "summary_text", text: "a" }] }, "a"],
  ["several summaries", { summary: ["a", "b"].map((text) => ({ text })) }, "a\n\nb"],
  [
    "content before summary",
    { summary: [{ text: "a" }], content: [{ type: "reasoning_text", text: "b" }] },
    "b",
  ],
  ["summary where content is empty", { summary: [{ text: "a" }], content: [] }, "a"],
])("reasoning goes to the assistant message behind it: %s", (_, fields, reasoning) => {
  expect(messagesOf([send, { type: "reasoning", ...fields }, say("b")])).toEqual([
    send,
    { role: "assistant", content: "b", reasoning_content: reasoning },
  ]);
});

test("reasoning, text and calls of one response are one message", () => {
  expect(messagesOf([send, think("a"), say("b"), call("1"), think("c"), call("2")])).toEqual([
    send,
    {
      role: "assistant",
      content: "b",
      reasoning_content: "a\n\nc",
      tool_calls: [toolCall("1"), toolCall("2")],
    },
  ]);
});

test("reasoning after a text belongs to the next message", () => {
  expect(messagesOf([send, say("a"), think("b"), call("1")])).toEqual([
    send,
    { role: "assistant", content: "a" },
    { ...calling("1"), reasoning_content: "b" },
  ]);
});

test("reasoning that led to nothing is a message of its own", () => {
  expect(messagesOf([send, think("a"), send])).toEqual([
    send,
    { role: "assistant", content: "", reasoning_content: "a" },
    send,
  ]);
});

test("encrypted reasoning is left out, since only its maker can read it", () => {
  const encrypted = { type: "reasoning", summary: [], content: null, encrypted_content: "gAAAA" };
  expect(messagesOf([send, encrypted, say("a")])).toEqual([
    send,
    { role: "assistant", content: "a" },
  ]);
});

test("a custom tool call is a function call with one text", () => {
  const input = 'a "b"\n\\';
  const items = [
    { type: "custom_tool_call", call_id: "1", name: "apply_patch", input },
    { type: "custom_tool_call_output", call_id: "1", output: "done" },
  ];
  expect(messagesOf(items)).toEqual([
    {
      role: "assistant",
      content: null,
      tool_calls: [toolCall("1", "apply_patch", JSON.stringify({ input }))],
    },
    tool("1", "done"),
  ]);
});

test("arguments that are nothing become an empty object", () => {
  expect(messagesOf([{ ...call("1"), arguments: "" }])).toEqual([
    { role: "assistant", content: null, tool_calls: [toolCall("1", "look", "{}")] },
  ]);
});

test.each([
  ["a reference", { type: "item_reference", id: "msg_1" }],
  ["a reference in its short form", { id: "msg_1" }],
  ["a compaction", { type: "compaction", encrypted_content: "gAAAA" }],
  ["a hosted tool's call", { type: "web_search_call", id: "ws_1" }],
  ["an unknown item", { type: "toString" }],
])("%s is refused and named", (_, item) => {
  expect(refusalOf({ input: [send, item] })).toEqual(["unsupported_value", "input[1].type"]);
});

test("an item reference is refused with how to send the item itself", () => {
  const items = [send, { type: "item_reference", id: "msg_1" }];
  expect(() => translated({ input: items })).toThrow("Send the items themselves: store: false.");
});

test("an unknown role is refused and named", () => {
  expect(refusalOf({ input: [{ role: "critic", content: "a" }] })).toEqual([
    "unsupported_value",
    "input[0].role",
  ]);
});

test.each([
  ["a number", 5, "input"],
  ["an object", {}, "input"],
  ["an item that is a string", ["ask"], "input[0]"],
  ["an item that is null", [null], "input[0]"],
  ["a type that is a number", [{ ...send, type: 1 }], "input[0].type"],
  ["a role that is a number", [{ role: 1, content: "a" }], "input[0].role"],
  ["a call without id", [{ ...call("1"), call_id: null }], "input[0].call_id"],
  ["a call without name", [{ ...call("1"), name: undefined }], "input[0].name"],
  ["arguments that are parsed", [{ ...call("1"), arguments: {} }], "input[0].arguments"],
  ["a namespace that is a number", [{ ...call("1"), namespace: 1 }], "input[0].namespace"],
  ["an output without id", [{ ...output("1"), call_id: 1 }], "input[0].call_id"],
  ["an output that is an object", [output("1", {})], "input[0].output"],
  ["an output that is null", [output("1", null)], "input[0].output"],
  [
    "a custom call without input",
    [{ type: "custom_tool_call", call_id: "1", name: "a" }],
    "input[0].input",
  ],
  ["a summary that is a string", [{ type: "reasoning", summary: "a" }], "input[0].summary"],
  ["a summary of numbers", [{ type: "reasoning", summary: [1] }], "input[0].summary[0]"],
  ["a summary without text", [{ type: "reasoning", summary: [{}] }], "input[0].summary[0].text"],
])("%s is an invalid type, and the field is named", (_, input, param) => {
  expect(refusalOf({ input })).toEqual(["invalid_type", param]);
});

test.each([
  ["no input", undefined],
  ["null", null],
  ["no items", []],
  ["only encrypted reasoning", [{ type: "reasoning", summary: [], encrypted_content: "gAAAA" }]],
])("%s leaves nothing to respond to", (_, input) => {
  expect(refusalOf({ input })).toEqual(["unsupported_value", "input"]);
});
