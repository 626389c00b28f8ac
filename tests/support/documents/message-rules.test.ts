import { expect, test } from "vitest";
import { checkMessageEvents } from "./message-rules.ts";

const start = {
  type: "message_start",
  message: {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "m",
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 0, output_tokens: 0 },
  },
};
const open = (index: number, content_block: object) => ({
  type: "content_block_start",
  index,
  content_block,
});
const text = { type: "text", text: "" };
const add = (index: number, delta: object) => ({ type: "content_block_delta", index, delta });
const hello = { type: "text_delta", text: "hello" };
const stop = (index: number) => ({ type: "content_block_stop", index });
const end = (reason: string) => ({
  type: "message_delta",
  delta: { stop_reason: reason, stop_sequence: null },
  usage: { output_tokens: 1 },
});
const over = { type: "message_stop" };
const call = { type: "tool_use", id: "toolu_1", name: "f", input: {} };

test("a message in order has no problem", () => {
  const ping = { type: "ping" };
  const events = [start, ping, open(0, text), add(0, hello), stop(0), open(1, call), stop(1)];
  expect(checkMessageEvents([...events, end("tool_use"), over])).toEqual([]);
});

test.each([
  ["a block that is not stopped", [start, open(0, text), end("end_turn"), over]],
  [
    "two open blocks",
    [start, open(0, text), open(1, text), stop(0), stop(1), end("end_turn"), over],
  ],
  ["an index that is left out", [start, open(1, text), stop(1), end("end_turn"), over]],
  ["text in a call", [start, open(0, call), add(0, hello), stop(0), end("tool_use"), over]],
  [
    "thinking without a signature",
    [start, open(0, { type: "thinking" }), stop(0), end("end_turn"), over],
  ],
  ["a call that ends the turn", [start, open(0, call), stop(0), end("end_turn"), over]],
  [
    "two calls of one id",
    [start, open(0, call), stop(0), open(1, call), stop(1), end("tool_use"), over],
  ],
  ["no end", [start, open(0, text), stop(0), end("end_turn")]],
  ["something behind the end", [start, end("end_turn"), over, over]],
  ["no beginning", [end("end_turn"), over]],
])("%s is a problem", (_what, events) => {
  expect(checkMessageEvents(events)).not.toEqual([]);
});
