import { array, assert, double, integer, property, record } from "fast-check";
import { expect, test } from "vitest";
import { FirstContentFit } from "./first-content-fit.ts";

function fitOf(samples: readonly (readonly [x: number, y: number])[]): FirstContentFit {
  const fit = new FirstContentFit();
  for (const [x, y] of samples) fit.add(x, y);
  return fit;
}

test("is not known before the first sample", () => {
  expect(new FirstContentFit().at(100)).toBeUndefined();
});

test("finds the line that samples are on", () => {
  const fit = fitOf([1_000, 4_000, 200, 9_000].map((x) => [x, 50 + x / 10]));
  expect(fit.at(0)).toBeCloseTo(50, 6);
  expect(fit.at(20_000)).toBeCloseTo(2_050, 6);
});

test("shows no rate while all prompts were short", () => {
  const fit = fitOf([
    [30, 150],
    [60, 170],
    [400, 160],
  ]);
  expect(fit.at(100)).toBeCloseTo(160, 0);
  expect(fit.at(6_000)).toBeUndefined();
  expect([fit.slope, fit.isBeyond(1_500), fit.isBeyond(1_600)]).toEqual([undefined, false, true]);
});

test("keeps the rate that one long prompt showed, whatever short ones follow", () => {
  const fit = fitOf([[6_000, 700], ...Array.from({ length: 200 }, () => [30, 150] as const)]);
  expect(fit.at(6_000)).toBeCloseTo(700, 6);
  expect(fit.at(60)).toBeCloseTo(153, 0);
});

test("takes the cost to be in proportion while all samples have one size", () => {
  expect(fitOf([[1_000, 100]]).at(3_000)).toBeCloseTo(300, 6);
});

test("does not fall with the size, whatever the samples", () => {
  const falling = fitOf([
    [100, 900],
    [5_000, 10],
  ]);
  expect(falling.at(10_000)).toBe(falling.at(0));
});

test("follows a change within some twenty samples", () => {
  const fit = fitOf(Array.from({ length: 50 }, (_, index) => [1_000 + index, 100]));
  for (let index = 0; index < 20; index++) fit.add(1_000 + index, 400);
  expect(fit.at(1_010)).toBeGreaterThan(350);
});

test("is finite, not negative and never falling for any samples", () => {
  const amount = double({ min: 0, max: 1e7, noNaN: true });
  const size = integer({ min: 0, max: 64 * 1024 * 1024 });
  const samples = array(record({ x: size, y: amount }), { minLength: 1, maxLength: 30 });
  assert(
    property(samples, size, size, (all, one, other) => {
      const fit = fitOf(all.map(({ x, y }) => [x, y]));
      const [less, more] = [Math.min(one, other), Math.max(one, other)];
      const [low, high] = [fit.at(less) ?? 0, fit.at(more) ?? Number.MAX_VALUE];
      expect(low).toBeGreaterThanOrEqual(0);
      expect(Number.isFinite(high)).toBe(true);
      expect(high).toBeGreaterThanOrEqual(low);
    }),
  );
});
