import { expect, test } from "vitest";
import { CallItem } from "./output-items.ts";

function open(kind: "function" | "custom") {
  const types: string[] = [];
  const tool = { kind, name: "f", namespace: undefined };
  const item = new CallItem((type) => void types.push(type), "x", 0, "c", tool);
  return { item, types };
}

test.each([
  ["function", '{"a":1}', false, "completed"],
  ["function", '{"a":1}', true, "completed"],
  ["function", '{"a":', false, "completed"],
  ["function", '{"a":', true, "incomplete"],
  ["function", "", true, "incomplete"],
  ["custom", '{"input":"a"}', true, "completed"],
  ["custom", '{"input":"a', true, "incomplete"],
  ["custom", '{"input":"a', false, "completed"],
] as const)("a %s call of %s, cut off %s, is %s", (kind, pieces, isCut, status) => {
  const { item } = open(kind);
  for (const piece of pieces) item.add(piece);
  item.close(isCut);
  expect(item.json()).toMatchObject({ status });
  expect(item.isClosed).toBe(true);
});

test("a whole call that is sent again is passed on once", () => {
  const { item, types } = open("function");
  item.add('{"a":1}');
  item.add('{"a":1}');
  item.close(false);
  expect(item.json()).toMatchObject({ arguments: '{"a":1}' });
  expect(types.filter((type) => type.endsWith("delta"))).toHaveLength(1);
});

test.each(["function", "custom"] as const)("a closed %s call says nothing more", (kind) => {
  const { item, types } = open(kind);
  item.add('{"input":"a"}');
  item.close(false);
  const before = types.length;
  item.add("\n");
  expect(types).toHaveLength(before);
});

test("a custom tool that was given no such object gets the arguments as they are", () => {
  const { item, types } = open("custom");
  item.add("*** Begin");
  item.add(" Patch");
  item.close(false);
  expect(item.json()).toMatchObject({ type: "custom_tool_call", input: "*** Begin Patch" });
  expect(types).toEqual([
    "response.output_item.added",
    "response.custom_tool_call_input.delta",
    "response.custom_tool_call_input.done",
    "response.output_item.done",
  ]);
});
