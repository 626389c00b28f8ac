import { expect, test } from "vitest";
import { nearest } from "./nearest.ts";

test.each([
  ["room", "rooms"],
  ["QUEUE_WAIT_MS", "queueWaitMs"],
  ["queue-wait", "queueWaitMs"],
  ["", undefined],
  ["elephant", undefined],
])("for %j the nearest is %s", (word, expected) => {
  expect(nearest(word, ["rooms", "queueWaitMs"])).toBe(expected);
});

test("among no candidates none is near", () => {
  expect(nearest("rooms", [])).toBeUndefined();
});
