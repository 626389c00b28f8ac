import { systemWorld } from "@roomhub/protocol";
import { describe, expect, test } from "vitest";
import { canaries, type CanaryOutcome, promptOf, provenFeatures } from "./canaries.ts";

const random = () => systemWorld.random();
const { tools, schema, vision, needle } = canaries(32_768, () => 0.5);

const called = (args: string) => ({
  tool_calls: [{ function: { name: "get_weather", arguments: args } }],
});

describe("a canary passes", () => {
  test.each([
    ["tools", tools, called('{"city":"Oslo"}'), called("{}")],
    ["tools", tools, called('{"city":"oslo, Norway"}'), { content: "It rains in Oslo." }],
    ["schema", schema, { content: '{"colour":"blue","depth":3}' }, { content: "The sea is blue." }],
    [
      "schema",
      schema,
      { content: '{"depth":3,"colour":"green"}' },
      { content: '{"colour":"red","depth":3}' },
    ],
    ["vision", vision, { content: "Red." }, { content: "I see no picture that is coloured" }],
    ["needle", needle, { content: "The code is 55000." }, { content: "The code is 12345." }],
  ])("%s: by what the model responds", (_name, canary, good, bad) => {
    expect(canary.holds(good)).toBe(true);
    expect(canary.holds(bad)).toBe(false);
    expect(canary.holds({})).toBe(false);
  });
});

const passed: CanaryOutcome = { verdict: "passed", message: {}, status: undefined };
const failed = (content = "") => ({ ...passed, verdict: "failed" as const, message: { content } });
const refused = (status: number) => ({ verdict: "refused" as const, message: undefined, status });
const none = { tools: failed(), schema: failed(), vision: failed(), needle: failed() };

describe("outcomes prove", () => {
  test.each([
    ["nothing by one response that is wrong", {}, {}],
    ["what passed", { tools: passed, vision: passed }, { tools: "supported", vision: "supported" }],
    [
      "no enforcement by a response that fits",
      { schema: passed },
      { structuredOutput: "best-effort" },
    ],
    [
      "a schema ignored by prose",
      { schema: failed("It is blue.") },
      { structuredOutput: "ignored" },
    ],
    ["nothing by JSON that does not fit", { schema: failed(' {"colour":"red"') }, {}],
    ["an inability by a refusal", { tools: refused(400) }, { tools: "unsupported" }],
    ["nothing by a server in trouble", { tools: refused(503), vision: refused(500) }, {}],
    [
      "nothing by a server that refuses all",
      { tools: refused(400), schema: refused(400), vision: refused(400), needle: refused(400) },
      {},
    ],
  ])("%s", (_what, outcomes, proven) => {
    expect(provenFeatures({ ...none, ...outcomes })).toEqual(proven);
  });
});

test("the needle is in the middle of a text that the context takes", () => {
  const textOf = (context: number | null) =>
    JSON.stringify(canaries(context, random).needle.fields);
  expect(textOf(4_096).length).toBeLessThan(4_096 * 2 + 400);
  expect(textOf(null).length).toBeLessThan(9_000);
  expect(textOf(1_000_000).length).toBeLessThan(50_000);
});

test("a prompt has the bytes that it is named after, and no two are the same", () => {
  expect(promptOf(1024, random)).toHaveLength(1024);
  expect(promptOf(1024, random)).not.toBe(promptOf(1024, random));
});
