import { expect, test } from "vitest";
import { type DailyHours, isInHours, parseHours } from "./daily-hours.ts";

function hours(text: string): DailyHours {
  const parsed = parseHours(text);
  if (typeof parsed === "string") throw new Error(parsed);
  return parsed;
}

function openHours(text: string): number[] {
  const all = Array.from({ length: 24 }, (_, hour) => hour);
  return all.filter((hour) => isInHours(hours(text), hour));
}

test("hours are open from the first to before the second, and may include midnight", () => {
  expect(openHours("18-23")).toEqual([18, 19, 20, 21, 22]);
  expect(openHours("22-6")).toEqual([0, 1, 2, 3, 4, 5, 22, 23]);
  expect(openHours("22-24")).toEqual([22, 23]);
  expect(openHours("0-1")).toEqual([0]);
});

test.each(["18", "18-", "18-25", "18:00-23:00", "a-b", "", "-1-3", "0-24", "6-6"])(
  "hours of %j are refused",
  (text) => {
    expect(parseHours(text)).toEqual(expect.stringMatching(/^(must be|cover)/));
  },
);
