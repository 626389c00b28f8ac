import { expect, test } from "vitest";
import { highestOf, pathOf, timeTicks, valueTicks } from "./plot-geometry.ts";

test("a line goes on across what could not be measured, and is broken where nothing is known", () => {
  expect(pathOf([0, null, 10, undefined, 5], 10)).toBe("M0 1000h0L500 0M1000 500h0");
  expect(pathOf([undefined, null], 10)).toBe("");
  expect(pathOf([], 10)).toBe("");
});

test("the vertical axis has room above the highest value, and some where all are zero", () => {
  expect(
    highestOf({
      timesMs: [0, 1],
      lines: [
        [undefined, 3],
        [null, 10],
      ],
    }),
  ).toBeCloseTo(11);
  expect(highestOf({ timesMs: [0], lines: [[0], [undefined]] })).toBe(1);
});

test("the clock is marked every five minutes, with hours to 23", () => {
  const startMs = new Date(2026, 0, 2, 13, 52, 10).getTime();
  const times = Array.from({ length: 90 }, (_, index) => startMs + index * 10_000);
  expect(timeTicks(times).map(({ text }) => text)).toEqual(["13:55", "14:00", "14:05"]);
  expect(timeTicks(times)[0]?.at).toBeCloseTo(170 / 890);
  expect(timeTicks([])).toHaveLength(1);
});

test.each([
  [1, ["0", "0.5", "1"]],
  [0.016, ["0", "0.005", "0.01", "0.015"]],
  [7.7, ["0", "2", "4", "6"]],
  [17_000, ["0", "5,000", "10,000", "15,000"]],
])("values up to %d are marked %j", (highest, texts) => {
  expect(valueTicks(highest).map(({ text }) => text)).toEqual(texts);
});
