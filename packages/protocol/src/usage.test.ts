import { anything, assert, property } from "fast-check";
import { describe, expect, test } from "vitest";
import { findUsage, mergeUsage, readUsage, tokensPerSecond } from "./usage.ts";

describe("usage", () => {
  test.each([
    [
      { prompt_tokens: 1, completion_tokens: 2, total_tokens: 9 },
      { inputTokens: 1, outputTokens: 2, totalTokens: 9 },
    ],
    [
      { input_tokens: 1, output_tokens: 2 },
      { inputTokens: 1, outputTokens: 2, totalTokens: 3 },
    ],
    [
      { prompt_tokens: 0, completion_tokens: 0 },
      { inputTokens: 0, outputTokens: 0, totalTokens: 0 },
    ],
    [{ total_tokens: 4 }, { totalTokens: 4 }],
    [{ prompt_tokens: 1 }, { inputTokens: 1 }],
    [{ prompt_tokens: -1, completion_tokens: 2.5, total_tokens: "3" }, {}],
    [
      { prompt_tokens: Number.MAX_SAFE_INTEGER, completion_tokens: 1 },
      { inputTokens: Number.MAX_SAFE_INTEGER, outputTokens: 1 },
    ],
    [{ prompt_tokens: 2 ** 53 }, {}],
    [null, {}],
    ["x", {}],
    [[], {}],
  ])("%j is %j", (value, expected) => {
    expect(readUsage(value)).toEqual(expected);
  });

  test.each([
    [{ prompt_tokens: 9, prompt_tokens_details: { cached_tokens: 7 } }, 9, 7],
    [{ input_tokens: 9, input_tokens_details: { cached_tokens: 0 } }, 9, 0],
    [{ input_tokens: 2, cache_read_input_tokens: 7 }, 9, 7],
    [{ input_tokens: 2, cache_read_input_tokens: 7, cache_creation_input_tokens: 20 }, 29, 7],
    [{ input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 0 }, undefined, undefined],
    [{ prompt_tokens: 9, prompt_tokens_details: { cached_tokens: null } }, 9, undefined],
    [{ prompt_tokens: 9, prompt_tokens_details: null }, 9, undefined],
    [{ prompt_tokens: 9, prompt_tokens_details: "7" }, 9, undefined],
    [{ prompt_tokens: 9 }, 9, undefined],
  ])("%j has the cached tokens that the provider reports", (value, input, cached) => {
    const { inputTokens, ...rest } = readUsage(value);
    expect(inputTokens).toBe(input);
    expect(rest).toEqual(cached === undefined ? {} : { cachedInputTokens: cached });
  });

  test("has no cached tokens twice where the total shows that the input contains them", () => {
    const reported = {
      ...{ prompt_tokens: 1_000, completion_tokens: 50, total_tokens: 1_050 },
      prompt_tokens_details: { cached_tokens: 900 },
      cache_read_input_tokens: 900,
    };
    const counts = { inputTokens: 1_000, outputTokens: 50, totalTokens: 1_050 };
    expect(readUsage(reported)).toEqual({ ...counts, cachedInputTokens: 900 });
    const apart = { input_tokens: 100, output_tokens: 50, cache_read_input_tokens: 900 };
    expect(readUsage(apart)).toEqual({ ...counts, cachedInputTokens: 900 });
  });

  test("in a text has the cached tokens of its own object, else those of the timings", () => {
    const own = '"usage":{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":5}}';
    const timings = '"timings":{"cache_n":6,"prompt_n":3,"predicted_n":1}';
    expect(findUsage(`{${own},${timings}}`)).toEqual({ inputTokens: 9, cachedInputTokens: 5 });
    expect(findUsage(`{"usage":{"prompt_tokens":9},"timings":{"prompt_n":9}}`)).toEqual({
      inputTokens: 9,
    });
  });

  test("contains only safe integers, whatever a provider sends", () => {
    assert(
      property(anything(), anything(), anything(), (input, total, cached) => {
        const usage = readUsage({
          prompt_tokens: input,
          output_tokens: 3,
          total_tokens: total,
          prompt_tokens_details: cached,
          cache_read_input_tokens: cached,
        });
        for (const count of Object.values(usage) as number[]) {
          expect(Number.isSafeInteger(count) && count >= 0).toBe(true);
        }
      }),
    );
  });

  test("in a text is the last one with counts", () => {
    expect(findUsage('{"usage":{"prompt_tokens":1}}{"usage":null}{"usage":{}}')).toEqual({
      inputTokens: 1,
    });
    expect(findUsage('"usage":{"prompt_tokens":1},"usage":{"prompt_tokens":2}')).toEqual({
      inputTokens: 2,
    });
    expect(findUsage('x"usage"\n: {"details":{"a":{}},"output_tokens":1}')).toEqual({
      outputTokens: 1,
    });
  });

  test("is read from llama.cpp's timings when there is no usage object, including cached prompt tokens", () => {
    const timings = '"timings":{"cache_n":29,"prompt_n":1,"prompt_ms":2.6,"predicted_n":4}';
    expect(findUsage(`{${timings}}`)).toEqual({
      inputTokens: 30,
      outputTokens: 4,
      totalTokens: 34,
      cachedInputTokens: 29,
      promptMs: 2.6,
    });
    expect(findUsage('"timings": {"prompt_n":3,"predicted_n":2}')).toEqual({
      inputTokens: 3,
      outputTokens: 2,
      totalTokens: 5,
    });
    expect(findUsage(`"usage":{"prompt_tokens":9},${timings}`)).toEqual({
      inputTokens: 9,
      cachedInputTokens: 29,
      promptMs: 2.6,
    });
    expect(findUsage('"timings":{"prompt_ms":2.6}')).toEqual({});
  });

  test.each([
    "",
    '"usage"',
    '"usage":{',
    '"usage":{"prompt_tokens":1',
    '\\"usage\\":{"prompt_tokens":1}',
  ])("is not in %j", (text) => {
    expect(findUsage(text)).toEqual({});
  });
});

test("an endless or broken usage object is ignored at little cost", () => {
  const braces = '"usage":{"a":{';
  for (const text of [
    braces.repeat(10_000),
    `"usage":${"{".repeat(100_000)}${"}".repeat(100_000)}`,
    '"usage":{}}'.repeat(10_000),
    `"usage":{"prompt_tokens":1,"details":{"x":"${"y".repeat(5_000)}"}}`,
  ]) {
    const startMs = performance.now();
    expect(findUsage(text)).toEqual({});
    expect(performance.now() - startMs).toBeLessThan(500);
  }
});

test("the usage of a messages stream is that at its end, or else that at its start", () => {
  const start = { inputTokens: 25, outputTokens: 1, totalTokens: 26 };
  expect(mergeUsage(start, { outputTokens: 15 })).toEqual({
    inputTokens: 25,
    outputTokens: 15,
    totalTokens: 40,
  });
  expect(mergeUsage(start, { inputTokens: 30 })).toEqual({
    inputTokens: 30,
    outputTokens: 1,
    totalTokens: 31,
  });
  expect(mergeUsage(start, {})).toEqual(start);
  const cached = { cachedInputTokens: 9 };
  expect(mergeUsage({ ...start, ...cached }, { outputTokens: 1 })).toEqual({ ...start, ...cached });
  expect(mergeUsage(start, cached)).toEqual({ ...start, ...cached });
  expect(mergeUsage({}, {})).toEqual({});
});

test("tokens per second are computed over the whole duration when both are known", () => {
  expect(tokensPerSecond({ outputTokens: 7 }, 2_000)).toBe(3.5);
  expect(tokensPerSecond({ outputTokens: 0 }, 2_000)).toBe(0);
  expect(tokensPerSecond({ inputTokens: 7 }, 2_000)).toBeUndefined();
  expect(tokensPerSecond({ outputTokens: 7 }, 0)).toBeUndefined();
});
