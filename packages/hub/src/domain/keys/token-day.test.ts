import { expect, test } from "vitest";
import { TokenDay } from "./token-day.ts";

const midnightMs = new Date(2026, 2, 10).getTime();
const noonMs = midnightMs - 12 * 3_600_000;

test("a key spends its limit, and then waits until midnight", () => {
  const day = new TokenDay(100);
  day.reserve(10)(99, noonMs);
  expect([day.spent(noonMs), day.waitMs(noonMs)]).toEqual([99, 0]);
  day.reserve(10)(1, noonMs);
  expect(day.waitMs(noonMs)).toBe(midnightMs - noonMs);
  expect([day.waitMs(midnightMs - 1), day.waitMs(midnightMs)]).toEqual([1, 0]);
  expect(day.spent(midnightMs)).toBe(0);
});

test("requests that run hold what they may cost, so that others wait for their end", () => {
  const day = new TokenDay(100);
  const [first, second] = [day.reserve(60), day.reserve(60)];
  expect([day.spent(noonMs), day.waitMs(noonMs)]).toEqual([0, 5_000]);
  first(5, noonMs);
  expect([day.spent(noonMs), day.waitMs(noonMs)]).toEqual([5, 0]);
  second(0, noonMs);
  expect(day.toStore()).toEqual({ day: "2026-03-09", tokens: 5 });
});

test("a request that began before midnight counts for the day in which it ends", () => {
  const day = new TokenDay(100);
  const end = day.reserve(60);
  day.reserve(0)(30, noonMs);
  end(50, midnightMs);
  expect(day.spent(midnightMs)).toBe(50);
});

test("what is stored of an earlier day counts no more", () => {
  const day = new TokenDay(100);
  day.take({ day: "2026-03-09", tokens: 70 });
  expect(day.spent(midnightMs)).toBe(0);
  day.reserve(0)(1, midnightMs);
  day.take({ day: "2026-03-09", tokens: 90 });
  expect([day.spent(midnightMs), day.isStored]).toEqual([1, false]);
});

test("what is spent while it is being stored is stored later", () => {
  const day = new TokenDay(100);
  day.reserve(0)(10, noonMs);
  const stored = day.toStore();
  day.reserve(0)(3, noonMs);
  if (stored !== undefined) day.take(stored);
  expect([day.spent(noonMs), day.isStored]).toEqual([13, false]);
});
