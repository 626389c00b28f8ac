import { expect, test } from "vitest";
import { promptTooLong, readContextRefusal } from "./context-refusal.ts";

const error = (fields: object) => JSON.stringify({ error: fields });
const said = (message: string) => error({ message });

test.each([
  [
    "llama.cpp",
    error({
      code: 400,
      message:
        "request (9030 tokens) exceeds the available context size (4096 tokens), try increasing it",
      type: "exceed_context_size_error",
      n_prompt_tokens: 9030,
      n_ctx: 4096,
    }),
    [4_096, 9_030],
  ],
  [
    "OpenAI",
    error({
      message:
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
      code: "context_length_exceeded",
    }),
    [8_192, 9_000],
  ],
  [
    "vLLM, for the prompt",
    said(
      "This model's maximum context length is 4096 tokens. However, you requested 5100 tokens (5000 in the messages, 100 in the completion).",
    ),
    [4_096, 5_000],
  ],
  [
    "vLLM, for max_tokens",
    said(
      "This model's maximum context length is 4096 tokens. However, you requested 5100 tokens (100 in the messages, 5000 in the completion).",
    ),
    [4_096, 100],
  ],
  [
    "vLLM, for max_tokens in newer words",
    said(
      "'max_tokens' is too large: 8000. This model's maximum context length is 4096 tokens and your request has 100 input tokens (8000 > 4096 - 100).",
    ),
    [4_096, 100],
  ],
  [
    "SGLang",
    said("The input (5000 tokens) is longer than the model's context length (4096 tokens)."),
    [4_096, 5_000],
  ],
  [
    "Anthropic",
    JSON.stringify({
      type: "error",
      error: {
        type: "invalid_request_error",
        message: "prompt is too long: 215000 tokens > 200000 maximum",
      },
    }),
    [200_000, 215_000],
  ],
  [
    "LM Studio",
    JSON.stringify({
      error:
        "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.",
    }),
    [4_096, 5_000],
  ],
  ["Ollama", JSON.stringify({ error: "the input length exceeds the context length" }), []],
  [
    "Gemini",
    said("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
    [1_048_576, 1_200_000],
  ],
  [
    "a Responses stream",
    JSON.stringify({
      type: "response.failed",
      response: { error: { code: "context_length_exceeded", message: "too long" } },
    }),
    [],
  ],
])("the error of %s is read", (_server, text, figures: readonly number[]) => {
  const [contextTokens, promptTokens] = figures;
  expect(readContextRefusal(text)).toEqual({ contextTokens, promptTokens });
});

test("in Anthropic's words it says that the prompt is too long, and how long where the server does", () => {
  const own = "request (9030 tokens) exceeds the available context size (4096 tokens)";
  const counted = { contextTokens: 4_096, promptTokens: 9_030 };
  const words = promptTooLong(counted, own);
  expect(words).toBe(`prompt is too long: 9030 tokens > 4096 maximum. ${own}`);
  expect(promptTooLong(counted, words)).toBe(words);
  expect(readContextRefusal(said(words))).toEqual(counted);
  const fits = { contextTokens: 4_096, promptTokens: 100 };
  for (const refusal of [fits, { contextTokens: undefined, promptTokens: undefined }]) {
    const others = promptTooLong(refusal, "max_tokens is too large");
    expect(others).toBe("prompt is too long: max_tokens is too large");
    expect(readContextRefusal(said(others))).toBeDefined();
  }
});

test("other errors and contents are none", () => {
  expect(readContextRefusal(said("messages is required"))).toBeUndefined();
  expect(readContextRefusal("<html>")).toBeUndefined();
  const content = "This model's maximum context length is 8192 tokens.";
  expect(readContextRefusal(JSON.stringify({ choices: [{ delta: { content } }] }))).toBeUndefined();
});
