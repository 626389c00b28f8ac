import { expect, test } from "vitest";
import { contextText, featureWords, modelText } from "./model-text.ts";

test.each([
  [undefined, ""],
  [{ tokens: 8_192, from: "loaded" as const }, "8k"],
  [{ tokens: 200_000, from: "configured" as const }, "200k"],
  [{ tokens: 512, from: "declared" as const }, "512"],
  [{ tokens: 40_960, from: "trained" as const, mayTruncate: true }, "40k trained"],
  [{ tokens: 4_096, from: "loaded" as const, mayTruncate: true }, "4k, cuts"],
])("the context %j is written as %j", (context, text) => {
  expect(contextText(context)).toBe(text);
});

test("features are the words of those that are known", () => {
  const features = {
    tools: "supported",
    vision: "unsupported",
    reasoning: "unknown",
    logprobs: "supported",
  } as const;
  expect(featureWords({ ...features, structuredOutput: "enforced" })).toEqual([
    ...["tools", "logprobs", "schema"],
  ]);
  expect(featureWords({ ...features, structuredOutput: "best-effort" })).toContain("schema?");
  expect(featureWords({ ...features, structuredOutput: "ignored" })).toHaveLength(2);
  expect(featureWords(undefined)).toEqual([]);
});

test("a model that responds as another is written with both names", () => {
  expect(modelText({ model: "llama3" })).toBe("llama3");
  expect(modelText({ model: "llama3", answersAs: "qwen3" })).toBe("llama3 (answers as qwen3)");
});
