import { array, assert, integer, property } from "fast-check";
import { expect, test } from "vitest";
import { visibleRange } from "./virtual-rows.tsx";

test("every row that the window shows is in the range, at its place, and few others are", () => {
  const size = integer({ min: 0, max: 3_000 });
  const heights = array(integer({ min: 10, max: 100 }), { maxLength: 60 });
  assert(
    property(heights, size, size, (all, scrollTop, windowHeight) => {
      const range = visibleRange(all.length, (index) => all[index] ?? 0, scrollTop, windowHeight);
      const topOf = (row: number) => all.slice(0, row).reduce((sum, height) => sum + height, 0);
      expect(range.height).toBe(topOf(all.length));
      expect(range.aboveHeight).toBe(topOf(range.first));
      const seen = [...all.keys()].filter(
        (row) => topOf(row) < scrollTop + windowHeight && topOf(row + 1) > scrollTop,
      );
      for (const row of seen) {
        expect(range.first).toBeLessThanOrEqual(row);
        expect(range.end).toBeGreaterThan(row);
      }
      expect(range.end - range.first).toBeLessThanOrEqual(seen.length + 8);
    }),
  );
});
