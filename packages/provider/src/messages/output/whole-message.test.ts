import { parseChatCompletion } from "../../translation/chat/chat-choice.ts";
import { expect, test } from "vitest";
import { countingSource } from "../../responses/response.fixture.ts";
import { translated } from "../message.fixture.ts";
import { translateMessage } from "./whole-message.ts";
import { NotChatError } from "../../translation/chat/chat-choice.ts";

function messageOf(
  message: object,
  finish_reason: string | null = "stop",
  requested: Record<string, unknown> = {},
): Record<string, unknown> {
  const completion = {
    model: "real-model",
    choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason }],
    usage: { prompt_tokens: 9, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 4 } },
  };
  const body = Buffer.from(JSON.stringify(completion));
  const made = translateMessage(parseChatCompletion(body), translated(requested), countingSource());
  return JSON.parse(made.toString()) as Record<string, unknown>;
}

const call = (args: string, id = "call_1") => ({
  id,
  type: "function",
  function: { name: "f", arguments: args },
});

test("a completion becomes a message of the provider's model", () => {
  expect(messageOf({ content: "4" })).toEqual({
    id: "msg_0",
    type: "message",
    role: "assistant",
    model: "real-model",
    content: [{ type: "text", text: "4" }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: {
      input_tokens: 5,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 4,
      output_tokens: 2,
    },
  });
});

test("reasoning, text and calls are blocks in this order", () => {
  const message = {
    reasoning_content: "Hm.",
    content: "Looking.",
    tool_calls: [call('{"a":1}'), call("", "call_1"), call("{}", "")],
  };
  const { content, stop_reason } = messageOf(message, "stop", { thinking: { type: "adaptive" } });
  expect(stop_reason).toBe("tool_use");
  expect(content).toEqual([
    { type: "thinking", thinking: "Hm.", signature: "cm9vbWh1Yg==" },
    { type: "text", text: "Looking." },
    { type: "tool_use", id: "call_1", name: "f", input: { a: 1 } },
    { type: "tool_use", id: "toolu_0", name: "f", input: {} },
    { type: "tool_use", id: "toolu_1", name: "f", input: {} },
  ]);
  expect(messageOf(message)["content"]).not.toContainEqual(
    expect.objectContaining({ type: "thinking" }),
  );
});

test.each(["[1]", "4", '{"a":', "ls"])(
  "arguments that are no object (%s) are refused, unless the response was cut off in them",
  (args) => {
    expect(() => messageOf({ tool_calls: [call(args)] })).toThrow(NotChatError);
    expect(messageOf({ tool_calls: [call(args)] }, "length")).toMatchObject({
      content: [{ type: "tool_use", input: {} }],
      stop_reason: "max_tokens",
    });
  },
);

test("a response that failed on the way is no message", () => {
  expect(() => messageOf({ content: "a" }, "error")).toThrow(NotChatError);
});

test("a message that says nothing has no content", () => {
  expect(messageOf({ content: null })).toMatchObject({ content: [], stop_reason: "end_turn" });
});
