import { expect, test } from "vitest";
import { BAR_CELLS, slotBar, sparkline } from "./sparkline.ts";

test("the highest value is the tallest block, and what is not known is a space", () => {
  expect(sparkline([0, 50, undefined, 100], 10)).toBe("▁▅ █");
});

test("the newest values are shown", () => {
  expect(sparkline([100, 0, 0, 0], 3)).toBe("▁▁▁");
  expect(sparkline([1, 2], 0)).toBe("");
});

test.each([
  [{ active: 0, elsewhere: 0, limit: 4 }, "····"],
  [{ active: 2, elsewhere: 1, limit: 4 }, "██▒·"],
  [{ active: 5, elsewhere: 3, limit: 4 }, "████"],
  [{ active: 1, elsewhere: 0, limit: 64 }, "█·······"],
  [{ active: 33, elsewhere: 31, limit: 64 }, "█████▒▒▒"],
  [{ active: 0, elsewhere: 0, limit: 0 }, "·"],
])("slots %j are %s", (slots, bar) => {
  expect(slotBar(slots)).toBe(bar);
  expect(bar.length).toBeLessThanOrEqual(BAR_CELLS);
});
