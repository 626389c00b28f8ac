import { assert, integer, property } from "fast-check";
import { expect, test } from "vitest";
import { visibleRange } from "./visible-range.ts";

test("every row that the window shows is in the range, and the range is as long as the window", () => {
  const size = integer({ min: 0, max: 100_000 });
  const rowHeight = integer({ min: 10, max: 100 });
  const windowHeight = integer({ min: 0, max: 3_000 });
  assert(
    property(size, rowHeight, size, windowHeight, (count, height, scrollTop, window) => {
      const { first, end } = visibleRange(count, height, scrollTop, window);
      expect(first).toBeGreaterThanOrEqual(0);
      expect(end).toBeLessThanOrEqual(count);
      expect(end - first).toBeLessThanOrEqual(window / height + 10);
      const firstSeen = Math.floor(scrollTop / height);
      const lastSeen = Math.min(count - 1, Math.ceil((scrollTop + window) / height) - 1);
      for (const row of [firstSeen, lastSeen]) {
        if (row < 0 || row >= count || lastSeen < firstSeen) continue;
        expect(first).toBeLessThanOrEqual(row);
        expect(end).toBeGreaterThan(row);
      }
    }),
  );
});
