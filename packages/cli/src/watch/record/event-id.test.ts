import { expect, test } from "vitest";
import { parseEventId, stepBetween } from "./event-id.ts";

test("an id is the hub's start and a count", () => {
  expect(parseEventId("20e3bbe0-3")).toEqual({ bootId: "20e3bbe0", n: 3 });
  expect(parseEventId("a-b-12")).toEqual({ bootId: "a-b", n: 12 });
  for (const id of ["", "3", "-3", "b-", "b-x", "b-1e3"]) expect(parseEventId(id)).toBeUndefined();
});

test.each([
  [undefined, "b-9", { kind: "next" }],
  ["b-1", "b-2", { kind: "next" }],
  ["b-1", "b-5", { kind: "gap", missed: 3 }],
  ["b-5", "b-5", { kind: "repeated" }],
  ["b-5", "b-1", { kind: "repeated" }],
  ["b-5", "c-6", { kind: "gap", missed: null }],
  ["unknown form", "b-1", { kind: "next" }],
])("from %s to %s is %j", (last, id, step) => {
  expect(stepBetween(last, id)).toEqual(step);
});
