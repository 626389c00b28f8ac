import { systemWorld } from "@roomhub/protocol";
import { describe, expect, test } from "vitest";
import { canaries } from "./canaries.ts";
import { promptOf } from "./prompts.ts";

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
