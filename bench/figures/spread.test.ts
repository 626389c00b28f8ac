import { expect, test } from "vitest";
import { median, medianInterval } from "./spread.ts";

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

test("the interval of a median leaves out as many values at each end as 95 % allow", () => {
  // From tables of the sign test.
  expect(medianInterval(upTo(6))).toEqual([1, 6]);
  expect(medianInterval(upTo(9))).toEqual([2, 8]);
  expect(medianInterval(upTo(24))).toEqual([7, 18]);
  expect(medianInterval(upTo(40).toReversed())).toEqual([14, 27]);
  expect(medianInterval(upTo(5))).toEqual([-Infinity, Infinity]);
});

test("a median is between the two in the middle of an even number", () => {
  expect(median([4, 1, 3, 2])).toBe(2.5);
  expect(median([3, 1, 2])).toBe(2);
});
