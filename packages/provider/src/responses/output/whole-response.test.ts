import { parseChatCompletion } from "../../translation/chat/chat-choice.ts";
import { expect, test } from "vitest";
import { translatedRequest, countingSource } from "../response.fixture.ts";
import type { ToolName } from "../../translation/tool-naming.ts";
import { NotChatError } from "../../translation/chat/chat-choice.ts";
import { translateResponse } from "./stream.ts";

function translated(message: object, finishReason = "stop", more: object = {}) {
  const toolNames = new Map<string, ToolName>([
    ["ns__f", { kind: "function", name: "f", namespace: "ns" }],
    ["patch", { kind: "custom", name: "patch", namespace: undefined }],
  ]);
  const choices = [{ index: 0, message, finish_reason: finishReason }];
  const body = Buffer.from(JSON.stringify({ object: "chat.completion", choices, ...more }));
  const reply = translateResponse(
    parseChatCompletion(body),
    translatedRequest({ toolNames }),
    countingSource(),
  );
  return JSON.parse(reply.toString()) as Record<string, unknown>;
}

test("a message becomes an output item, with the provider's model and usage", () => {
  const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
  const response = translated({ content: "Hello 🐻" }, "stop", { model: "real-model", usage });
  expect(response).toMatchObject({
    id: "resp_0",
    object: "response",
    status: "completed",
    created_at: 1_000,
    completed_at: 1_001,
    model: "real-model",
    error: null,
    incomplete_details: null,
    output: [
      {
        id: "msg_1",
        type: "message",
        status: "completed",
        role: "assistant",
        content: [{ type: "output_text", text: "Hello 🐻", annotations: [], logprobs: [] }],
      },
    ],
    usage: {
      input_tokens: 3,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 2,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 5,
    },
  });
});

test("reasoning comes first, then the message with its refusal, then the calls", () => {
  const { output } = translated({
    tool_calls: [
      { id: "a", function: { name: "ns__f", arguments: '{"x":1}' } },
      { function: { name: "patch", arguments: '{"input":"one\\ntwo"}' } },
    ],
    refusal: "no",
    content: "text",
    reasoning: "hm",
  });
  expect(output).toEqual([
    {
      id: "rs_1",
      type: "reasoning",
      status: "completed",
      summary: [{ type: "summary_text", text: "hm" }],
    },
    {
      id: "msg_2",
      type: "message",
      status: "completed",
      role: "assistant",
      content: [
        { type: "output_text", text: "text", annotations: [], logprobs: [] },
        { type: "refusal", refusal: "no" },
      ],
    },
    {
      id: "fc_3",
      type: "function_call",
      status: "completed",
      call_id: "a",
      name: "f",
      namespace: "ns",
      arguments: '{"x":1}',
    },
    {
      id: "ctc_4",
      type: "custom_tool_call",
      status: "completed",
      call_id: "call_5",
      name: "patch",
      input: "one\ntwo",
    },
  ]);
});

test("a response cut short is incomplete, and so is its last item", () => {
  expect(translated({ content: "a", reasoning: "b" }, "length")).toMatchObject({
    status: "incomplete",
    completed_at: null,
    incomplete_details: { reason: "max_output_tokens" },
    output: [{ status: "completed" }, { status: "incomplete" }],
    usage: null,
  });
});

test("a message without content has no output", () => {
  expect(translated({ content: null })).toMatchObject({ status: "completed", output: [] });
  expect(translated({ content: "" })).toMatchObject({ output: [] });
});

test.each([
  "",
  "<html>",
  "null",
  '{"error":"no such endpoint"}',
  '{"choices":[]}',
  '{"object":"response"}',
])("%s is refused", (body) => {
  expect(() => parseChatCompletion(Buffer.from(body))).toThrow(NotChatError);
});
