import { expect, test } from "vitest";
import { readChatChunk, readChatCompletion } from "./chat-choice.ts";

const silence = { reasoning: "", text: "", refusal: "", calls: [], logprobs: [] };

function contentIn(delta: unknown) {
  return readChatChunk({ choices: [{ index: 0, delta }] }).content;
}

test("a chunk is read whole", () => {
  const chunk = {
    model: "m",
    choices: [
      {
        index: 0,
        delta: {
          role: "assistant",
          content: "text",
          reasoning_content: "thought",
          refusal: "no",
          tool_calls: [
            { index: 2, id: "c", type: "function", function: { name: "f", arguments: "{" } },
          ],
        },
        finish_reason: "stop",
      },
    ],
    usage: { prompt_tokens: 1 },
  };
  expect(readChatChunk(chunk)).toEqual({
    content: {
      reasoning: "thought",
      text: "text",
      refusal: "no",
      calls: [{ index: 2, id: "c", name: "f", arguments: "{" }],
      logprobs: [],
    },
    reasoningField: "reasoning_content",
    finishReason: "stop",
    model: "m",
    usage: { prompt_tokens: 1 },
  });
});

test.each([
  [null],
  ["text"],
  [[]],
  [{}],
  [{ choices: null }],
  [{ choices: [] }],
  [{ choices: [null] }],
  [{ choices: [{ index: 0, delta: null, finish_reason: "" }], model: "" }],
  [{ choices: [{ index: 0, delta: { content: 7, tool_calls: {}, function_call: 1 } }] }],
])("%j says nothing", (chunk) => {
  expect(readChatChunk(chunk)).toMatchObject({
    content: silence,
    finishReason: undefined,
    model: undefined,
  });
});

test.each([
  ["reasoning", { reasoning: "a" }],
  ["reasoning_content", { reasoning_content: "a" }],
  ["both, which say the same", { reasoning: "a", reasoning_content: "a" }],
  ["the one that is not empty", { reasoning: "a", reasoning_content: "" }],
  ["Mistral's list", { content: [{ type: "thinking", thinking: [{ type: "text", text: "a" }] }] }],
])("a thought is read from %s", (_where, delta) => {
  expect(contentIn(delta)).toEqual({ ...silence, reasoning: "a" });
});

test.each([
  [{ reasoning: "a", content: "b" }, "reasoning"],
  [{ reasoning: "a", reasoning_content: "" }, "reasoning"],
  [{ reasoning: "a", reasoning_content: "a" }, "reasoning_content"],
  [{ reasoning: null, content: "b" }, undefined],
])("%j reveals the server's field for reasoning: %s", (message, reasoningField) => {
  expect(readChatChunk({ choices: [{ delta: message }] })).toMatchObject({ reasoningField });
  expect(readChatCompletion({ choices: [{ message }] })).toMatchObject({ reasoningField });
});

test("a choice whose index is null is the first", () => {
  const { content, finishReason } = readChatChunk({
    choices: [{ index: null, delta: { content: "a" }, finish_reason: "stop" }],
  });
  expect([content.text, finishReason]).toEqual(["a", "stop"]);
});

test("a call that is not in a list is a list of one", () => {
  const call = { index: 0, id: "", function: { name: "f", arguments: "{" } };
  expect(contentIn({ tool_calls: call }).calls).toEqual([
    { index: 0, id: "", name: "f", arguments: "{" },
  ]);
});

test("content as a list is its texts", () => {
  const content = [
    { type: "text", text: "a" },
    { type: "reference", reference_ids: [1] },
    "x",
    null,
  ];
  expect(contentIn({ content: [...content, { type: "text", text: "b" }] })).toEqual({
    ...silence,
    text: "ab",
  });
});

test("arguments that are an object are put into JSON", () => {
  const calls = [{ function: { name: "f", arguments: { a: 1 } } }, { function: null }, null];
  expect(contentIn({ tool_calls: calls }).calls).toEqual([
    { index: undefined, id: "", name: "f", arguments: '{"a":1}' },
    { index: undefined, id: "", name: "", arguments: "" },
    { index: undefined, id: "", name: "", arguments: "" },
  ]);
});

test("arguments nested without end do no harm", () => {
  const depth = 100_000;
  const nested: unknown = JSON.parse(`${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`);
  expect(contentIn({ tool_calls: [{ function: { name: "f", arguments: nested } }] }).calls).toEqual(
    [{ index: undefined, id: "", name: "f", arguments: "" }],
  );
});

test("the function_call of old is a call", () => {
  expect(contentIn({ function_call: { name: "f", arguments: "{}" } }).calls).toEqual([
    { index: undefined, id: "", name: "f", arguments: "{}" },
  ]);
});

test("in a whole message every call is one of its own, whatever its index and id", () => {
  const call = { index: 0, id: "same", function: { name: "f", arguments: "{}" } };
  const reply = readChatCompletion({ choices: [{ message: { tool_calls: [call, call] } }] });
  expect(reply?.content.calls).toMatchObject([
    { index: 0, id: "same" },
    { index: 1, id: "same" },
  ]);
});

test.each([
  [null],
  [[]],
  [{}],
  [{ error: "Unexpected endpoint or method. (POST /chat/completions)" }],
  [{ choices: [] }],
  [{ choices: [{ index: 1, message: { content: "a" } }] }],
  [{ choices: [{ text: "a" }] }],
  [{ choices: [{ message: "a" }] }],
])("%j is no chat completion", (body) => {
  expect(readChatCompletion(body)).toBeUndefined();
});
