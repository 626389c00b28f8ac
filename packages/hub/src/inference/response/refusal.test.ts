import { describe, expect, test } from "vitest";
import { readProviderError } from "./refusal.ts";

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
