import { expect, test } from "vitest";
import { measureOnce } from "./measurements/measurement.ts";
import { planOf } from "./plan.ts";
import { measured, type Row } from "./row.ts";

const shared = measureOnce("shared", { full: 40, quick: 4 }, () => Promise.resolve(1));

function row(id: string, measurement?: Row["measurement"]): Row {
  const seconds = { full: 2, quick: 1 };
  return { id, title: id, seconds, measurement, run: () => Promise.resolve(measured([])) };
}

const rows = [row("a"), row("b", shared), row("c", shared)];

test("the first row that looks at a measurement takes the time for it", () => {
  expect(planOf(rows, false).map(({ seconds }) => seconds)).toEqual([2, 42, 2]);
  expect(planOf(rows, true).map(({ seconds }) => seconds)).toEqual([1, 5, 1]);
});

test("so does a later one when the first is left out", () => {
  expect(planOf(rows.slice(2), false).map(({ seconds }) => seconds)).toEqual([42]);
});
