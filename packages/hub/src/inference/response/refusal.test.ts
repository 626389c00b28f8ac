import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { isClientMistake, readProviderError, readRefusal } from "./refusal.ts";

describe("a provider's error body", () => {
  const none = { message: undefined, code: undefined, shape: "none" };
  test.each([
    [
      '{"error":{"message":"m","code":"c","type":"t"}}',
      { message: "m", code: "c", shape: "openai" },
    ],
    ['{"error":{"message":"m","code":""}}', { message: "m", code: undefined, shape: "openai" }],
    [
      '{"type":"error","error":{"type":"t","message":"m"}}',
      { message: "m", code: undefined, shape: "both" },
    ],
    ['{"error":{"message":1,"code":"c"}}', { message: undefined, code: "c", shape: "none" }],
    ['{"error":"m"}', { message: "m", code: undefined, shape: "none" }],
    ['{"message":"m"}', { message: "m", code: undefined, shape: "none" }],
    ["Invalid request\n", { message: "Invalid request", code: undefined, shape: "none" }],
    ["500 Internal Server Error\nstof", none],
    ["null", none],
    ["[]", none],
    ["<html>", none],
    ["", none],
  ])("%s is read as %o", (text, { shape, ...expected }) => {
    expect(readProviderError(text)).toEqual({
      ...expected,
      isOpenAiShape: shape !== "none",
      isAnthropicShape: shape === "both",
    });
  });
});

/** Recorded from a real llama-server. */
function recordedMessage(name: string): string {
  const url = new URL(`../../../../../tests/fixtures/llama.cpp/${name}.http`, import.meta.url);
  const body = readFileSync(url, "utf8").split("\r\n\r\n")[1] ?? "";
  return readProviderError(body).message ?? "";
}

test.each(["error-image", "error-bad-tools", "error-not-json", "messages-empty"])(
  "a recorded 500 of llama.cpp to a client's mistake is one: %s",
  (name) => {
    expect(isClientMistake(500, recordedMessage(name))).toBe(true);
  },
);

test.each([
  "[json.exception.type_error.302] type must be string, but is number",
  "Failed to parse messages: Missing 'role' in message",
  "audio input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
  "Multimodal data provided, but model does not support multimodal requests.",
  "tools param requires --jinja flag",
  "Error: 'lora' must be an array of objects with 'id' and 'scale' fields",
  '"prompt" is required',
  "Unsupported param: best_of",
  "While executing CallExpression at line 3, column 9:\nError: Jinja Exception: Conversation roles must alternate",
  "this model is missing data required for image input",
])("a request is to blame for %j", (message) => {
  expect(isClientMistake(500, message)).toBe(true);
  expect(isClientMistake(503, message)).toBe(false);
});

test.each([
  "Failed to parse input at pos 0: <tool_call>",
  "Compute error.",
  "context shift is disabled",
  "llama runner process has terminated: exit status 2",
  "model failed to load, this may be due to resource limitations",
  "The provider responded 500 without a readable message.",
  "CUDA error: out of memory",
  "model is required to be loaded first",
  "",
])("a server is to blame for %j", (message) => {
  expect(isClientMistake(500, message)).toBe(false);
});

describe("a prompt that is longer than the context", () => {
  const message = "request (1550 tokens) exceeds the available context size (1024 tokens)";
  const own = JSON.stringify({ type: "error", error: { type: "bad_request", message } });

  test("is refused in the words at which clients of Anthropic's surfaces compact", () => {
    const words = `prompt is too long: 1550 tokens > 1024 maximum. ${message}`;
    const { error, body } = readRefusal("ada", 400, own, "anthropic");
    expect(error).toMatchObject({ status: 400, message: words });
    expect(body).toBe(own.replace(message, words));
    const anthropics = own.replace(message, "prompt is too long: 1550 tokens > 1024 maximum");
    expect(readRefusal("ada", 400, anthropics, "anthropic").body).toBe(anthropics);
  });

  test("is refused with the code at which clients of OpenAI's surfaces compact", () => {
    const error = { code: 400, message, type: "exceed_context_size_error", n_ctx: 1024 };
    const code = "context_length_exceeded";
    const refusal = readRefusal("ada", 400, JSON.stringify({ error }), "openai");
    expect(refusal).toMatchObject({ error: { code, status: 400, message } });
    expect(JSON.parse(refusal.body ?? "")).toEqual({ error: { ...error, code } });
    const spaced = `{ "error": { "message": ${JSON.stringify(message)}, "code": "${code}" } }`;
    expect(readRefusal("ada", 413, spaced, "openai")).toMatchObject({
      error: { status: 413 },
      body: spaced,
    });
    const other = JSON.stringify({ error: message });
    expect(readRefusal("ada", 422, other, "openai")).toMatchObject({
      error: { code, status: 422, message },
      body: undefined,
    });
  });

  test("is a fault of the request also where the server responds 500", () => {
    const text = JSON.stringify({ error: "the input length exceeds the context length" });
    for (const shape of ["openai", "anthropic"] as const) {
      const { error, body } = readRefusal("ada", 500, text, shape);
      expect([error.status, error.code, body]).toEqual([400, "context_length_exceeded", undefined]);
    }
  });
});
