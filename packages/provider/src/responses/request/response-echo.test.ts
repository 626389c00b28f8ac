import { expect, test } from "vitest";
import { translatedRequest } from "../response.fixture.ts";
import { refusalOf, translated } from "../translate.fixture.ts";

/** Every key, for a request without optional fields; the half that writes the response is tested with the same. */
const defaults = translatedRequest().echo;

test("a request that says nothing is echoed with every key", () => {
  expect(translated({}).echo).toStrictEqual(defaults);
});

test("null is echoed like nothing", () => {
  const nulls = Object.fromEntries(Object.keys(defaults).map((key) => [key, null]));
  expect(translated(nulls).echo).toStrictEqual(defaults);
});

test("what the request contains is echoed", () => {
  const sent = {
    instructions: "Be brief.",
    parallel_tool_calls: false,
    top_p: 0.5,
    presence_penalty: -1,
    frequency_penalty: 0.25,
    top_logprobs: 3,
    temperature: 0,
    reasoning: { effort: "low", summary: "auto" },
    max_output_tokens: 16,
    max_tool_calls: 2,
    service_tier: "flex",
    metadata: { a: "b" },
    safety_identifier: "who",
    prompt_cache_key: "key",
  };
  expect(translated(sent).echo).toStrictEqual({ ...defaults, ...sent });
});

test("what cannot be promised is echoed as it is", () => {
  const wished = { store: true, truncation: "auto", background: false };
  expect(translated(wished).echo).toMatchObject({
    store: false,
    truncation: "disabled",
    background: false,
  });
});

test.each([
  ["no key", {}, { effort: null, summary: null }],
  ["effort alone", { effort: "none" }, { effort: "none", summary: null }],
  ["summary alone", { summary: "concise" }, { effort: null, summary: "concise" }],
])("reasoning with %s is echoed with both", (_, reasoning, expected) => {
  expect(translated({ reasoning }).echo.reasoning).toStrictEqual(expected);
});

test("only functions are echoed, each with all its keys", () => {
  const full = { type: "function", name: "a", description: "A.", parameters: {}, strict: true };
  const tools = [
    { ...full, defer_loading: true },
    { type: "function", name: "b" },
    { type: "custom", name: "c" },
    { type: "namespace", name: "d", tools: [{ type: "function", name: "e" }] },
    { type: "web_search" },
  ];
  expect(translated({ tools }).echo.tools).toStrictEqual([
    full,
    { type: "function", name: "b", description: null, parameters: null, strict: null },
  ]);
});

test.each([
  ["none", "none"],
  [
    { type: "function", name: "a" },
    { type: "function", name: "a" },
  ],
  [
    { type: "allowed_tools", tools: [{ type: "function", name: "a" }] },
    { type: "allowed_tools", tools: [{ type: "function", name: "a" }], mode: "auto" },
  ],
])("tool_choice %j is echoed as %j", (choice, expected) => {
  const tools = [{ type: "function", name: "a" }];
  expect(translated({ tools, tool_choice: choice }).echo.tool_choice).toStrictEqual(expected);
});

test.each([
  ["metadata", "a"],
  ["metadata", []],
  ["service_tier", 1],
  ["safety_identifier", {}],
  ["prompt_cache_key", 1],
  ["max_tool_calls", "1"],
  ["instructions", ["a"]],
])("%s that is %j is an invalid type", (param, value) => {
  expect(refusalOf({ [param]: value })).toEqual(["invalid_type", param]);
});
