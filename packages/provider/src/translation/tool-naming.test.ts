import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { ToolName } from "./tool-naming.ts";
import { ToolNaming } from "./tool-naming.ts";

function fn(name: string, namespace?: string): ToolName {
  return { kind: "function", name, namespace };
}

test.each([
  ["a plain name", fn("get_weather-2"), "get_weather-2"],
  ["a namespace", fn("search", "docs"), "docs__search"],
  ["a namespace that ends like Codex'", fn("search", "mcp__docs__"), "mcp__docs__search"],
  ["characters chat does not take", fn("a.b c/ü😀"), "a_b_c____"],
  ["no name at all", fn(""), "_"],
  ["a long name", fn("x".repeat(80)), "x".repeat(64)],
])("%s gets a name chat takes", (_, tool, expected) => {
  expect(new ToolNaming().chatName(tool)).toBe(expected);
});

test("the first with a name keeps it, the others are numbered, and each is found again", () => {
  const naming = new ToolNaming();
  const tools = [
    fn("a__b__c"),
    fn("b__c", "a"),
    fn("c", "a__b"),
    { kind: "custom" as const, name: "a__b__c", namespace: undefined },
  ];
  const names = tools.map((tool) => naming.chatName(tool));
  expect(names).toEqual(["a__b__c", "a__b__c_2", "a__b__c_3", "a__b__c_4"]);
  expect(names.map((name) => naming.names.get(name))).toEqual(tools);
});

test("a number that is already a name is skipped", () => {
  const naming = new ToolNaming();
  naming.chatName(fn("a"));
  naming.chatName(fn("a_2"));
  expect(naming.chatName(fn("a", ""))).toBe("__a");
  expect(naming.chatName({ ...fn("a"), kind: "custom" })).toBe("a_3");
});

test("a name that is a word of the language is a name", () => {
  const naming = new ToolNaming();
  expect(naming.chatName(fn("__proto__"))).toBe("__proto__");
  expect(naming.chatName(fn("constructor"))).toBe("constructor");
  expect(naming.names.get("toString")).toBeUndefined();
});

const anyTool = fc.record({
  kind: fc.constantFrom("function" as const, "custom" as const),
  name: fc.oneof(fc.constantFrom("a", "a_2", "a!", "x".repeat(70)), fc.string({ maxLength: 80 })),
  namespace: fc.option(fc.constantFrom("a", "a__", "n".repeat(70)), { nil: undefined }),
});

test("whatever the tools are called, names fit, differ, and lead back", () => {
  fc.assert(
    fc.property(fc.array(anyTool), (tools) => {
      const naming = new ToolNaming();
      for (const tool of tools) {
        const name = naming.chatName(tool);
        expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
        expect(naming.chatName({ ...tool })).toBe(name);
        expect(naming.names.get(name)).toEqual(tool);
      }
    }),
  );
});

test("fifty thousand tools with the same name are named at once", () => {
  const naming = new ToolNaming();
  const names = new Set<string>();
  for (let n = 0; n < 50_000; n++) names.add(naming.chatName(fn("x".repeat(64) + n)));
  expect(names.size).toBe(50_000);
  expect([...names].every((name) => name.length <= 64)).toBe(true);
});
