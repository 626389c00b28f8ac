import { expect, test } from "vitest";
import {
  agoText,
  countText,
  durationText,
  elapsedText,
  plural,
  rateText,
  shareText,
  spanText,
  stopwatchText,
} from "./figure-text.ts";

test.each([
  [durationText, [-5, "0 ms"], [999.4, "999 ms"], [999.5, "1.0 s"], [9_949, "9.9 s"]],
  [
    durationText,
    [9_950, "10 s"],
    [59_499, "59 s"],
    [59_999, "59 s"],
    [60_000, "1:00"],
    [3_725_000, "1:02:05"],
  ],
  [stopwatchText, [-1, "0:00"], [7_999, "0:07"], [185_000, "3:05"], [3_600_000, "1:00:00"]],
  [elapsedText, [0, "0.0 s"], [12_449, "12.4 s"], [60_000, "1:00"]],
  [agoText, [-1, "just now"], [4_999, "just now"], [40_000, "40 s ago"], [300_000, "5 min ago"]],
  [agoText, [10_800_000, "3 h ago"], [172_800_000, "2 days ago"]],
  [spanText, [-1, "0 s"], [59_999, "59 s"], [60_000, "1 min"], [899_999, "14 min"]],
  [countText, [0, "0"], [1_234, "1,234"], [9_999, "9,999"], [12_345, "12.3k"], [20_000, "20k"]],
  [countText, [999_499, "999k"], [999_500, "1M"], [4_500_000, "4.5M"]],
  [rateText, [0, "0.0"], [9.94, "9.9"], [9.95, "10"], [33.3, "33"]],
  [shareText, [0, "0 %"], [0.456, "46 %"], [1, "100 %"]],
] as [(value: number) => string, ...[number, string][]][])(
  "%o is short at every size",
  (text, ...cases) => {
    expect(cases.map(([value]) => text(value))).toEqual(cases.map(([, expected]) => expected));
  },
);

test("one is singular, everything else is plural", () => {
  expect([0, 1, 2].map((count) => plural(count, "request"))).toEqual([
    "0 requests",
    "1 request",
    "2 requests",
  ]);
});
