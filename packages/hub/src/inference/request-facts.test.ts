import { describe, expect, test } from "vitest";
import { metricsOf } from "./request-facts.ts";

describe("metrics", () => {
  test("are rounded to hundredths of a ms, and tokens per second follow from the whole duration", () => {
    expect(
      metricsOf(12.34567, 2_000.004, { inputTokens: 1, outputTokens: 7, totalTokens: 8 }),
    ).toEqual({
      ttftMs: 12.35,
      durationMs: 2_000,
      inputTokens: 1,
      outputTokens: 7,
      totalTokens: 8,
      tokensPerSecond: 3.5,
    });
  });

  test("leave out what is unknown", () => {
    expect(metricsOf(1, 2, {})).toEqual({ ttftMs: 1, durationMs: 2 });
    expect(metricsOf(1, 2, { inputTokens: 3 })).not.toHaveProperty("tokensPerSecond");
    expect(metricsOf(0, 0, { outputTokens: 3 })).toEqual({
      ttftMs: 0,
      durationMs: 0,
      outputTokens: 3,
    });
  });

  test("have no figures of single programs", () => {
    expect(metricsOf(1, 2, { promptMs: 5 })).toEqual({ ttftMs: 1, durationMs: 2 });
  });

  test("are never negative", () => {
    expect(metricsOf(-1, -1, {})).toEqual({ ttftMs: 0, durationMs: 0 });
  });
});
