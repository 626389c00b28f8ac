import { expect, test } from "vitest";
import { compare, type Results } from "./results.ts";
import type { BenchFigure } from "../row.ts";

function resultsWith(...figures: BenchFigure[]): Results {
  return {
    ...{ date: "2026-01-01T00:00:00.000Z", isQuick: false, loadAverage: [0, 0], seconds: 1 },
    machine: { cores: 2, cpu: "any", kernel: "6", node: "v24" },
    rows: [{ id: "1", title: "a row", seconds: 1, kind: "measured", figures, seen: [] }],
  };
}

const ratio = (value: number): BenchFigure => ({ what: "a / b", value, goal: 2, unit: "×" });
const time = (value: number): BenchFigure => ({ what: "p50", value, goal: 2, unit: "ms" });

test("a ratio that grew by more than runs differ is a regression, met goal or not", () => {
  const before = resultsWith(ratio(1), time(1));
  const regressions = (now: Results) =>
    compare(before, now).filter(({ isRegression }) => isRegression);
  expect(regressions(resultsWith(ratio(1.14), time(1)))).toEqual([]);
  expect(regressions(resultsWith(ratio(1.16), time(1)))).toMatchObject([{ what: "a / b" }]);
});

test("times of two runs are shown beside each other and not judged", () => {
  const comparisons = compare(resultsWith(time(1)), resultsWith(time(9)));
  expect(comparisons).toMatchObject([{ before: 1, now: 9, isRegression: false }]);
});

test("figures that only one of the runs has are left out", () => {
  expect(compare(resultsWith(time(1)), resultsWith(ratio(1)))).toEqual([]);
});
