import { expect, test } from "vitest";
import { isForegroundStat } from "./foreground.ts";

test.each([
  ["its terminal's own group", "12 (node) S 1 12 9 34816 12 4194304 1", true],
  ["another group than its terminal's", "12 (node) S 1 12 9 34816 9 4194304 1", false],
  ["no terminal at all", "12 (node) S 1 12 9 0 -1 4194304 1", false],
  ["a name with parentheses", "12 (a) b) S 1 12 9 34816 12 4194304 1", true],
])("a process with %s", (_name, stat, isForeground) => {
  expect(isForegroundStat(stat)).toBe(isForeground);
});
