import { expect, test } from "vitest";
import {
  clockTime,
  colorsFor,
  duration,
  formatTable,
  safe,
  safeLines,
  shellWord,
  shortDuration,
} from "./text.ts";
import { capture, makeWorld } from "../test-context.fixture.ts";

test.each([
  [true, {}, true],
  [false, {}, false],
  [true, { NO_COLOR: "1" }, false],
  [true, { NO_COLOR: "" }, true],
  [true, { TERM: "dumb" }, false],
])("on a terminal (%s) with %j there are colours: %s", (isTTY, env, isColorful) => {
  const { context } = makeWorld({ env });
  expect(colorsFor(context, capture(isTTY ? 80 : undefined)).red("x") !== "x").toBe(isColorful);
});

test("columns are as wide as their widest cell, whatever the letters are made of", () => {
  expect(
    formatTable(
      ["a", "b"],
      [
        ["zoë", "1"],
        ["👩‍💻", "2"],
      ],
    ),
  ).toBe("A    B\nzoë  1\n👩‍💻   2\n");
});

test("a response keeps its line breaks and tabs, a name keeps neither", () => {
  expect(safeLines("a\r\nb\tc\u001b[0m\n")).toBe("a\nb\tc\ufffd[0m\n");
  expect(safe("a\nb")).toBe("a\ufffdb");
  expect(safe(undefined)).toBe("?");
});

test.each([
  [0, "0 ms"],
  [999, "999 ms"],
  [1000, "1.0 s"],
  [185_000, "3 min 05 s"],
  [3_599_499, "59 min 59 s"],
  [3_725_000, "1 h 02 min"],
  [180_000_000, "50 h 00 min"],
])("%i ms is read as %s", (ms, text) => {
  expect(duration(ms)).toBe(text);
});

test("an invalid time does not throw", () => {
  expect(clockTime(Number.NaN)).toBe("--:--:--");
});

test.each([
  ["http://127.0.0.1:5050/rooms/ABC234", "http://127.0.0.1:5050/rooms/ABC234"],
  ["Ana's room", `'Ana'\\''s room'`],
])("%s is written for a shell as %s", (text, word) => {
  expect(shellWord(text)).toBe(word);
});

test.each([
  [0, "0 ms"],
  [999.4, "999 ms"],
  [999.6, "1.0 s"],
  [99_900, "99.9 s"],
  [99_960, "1m40s"],
  [185_000, "3m05s"],
  [5_999_000, "99m59s"],
])("%d ms is %s in a column", (ms, text) => {
  expect(shortDuration(ms)).toBe(text);
  expect(text.length).toBeLessThanOrEqual(6);
});
