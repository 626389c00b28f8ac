import { array, assert, integer, property } from "fast-check";
import { expect, test } from "vitest";
import { RecentValues } from "./recent-values.ts";

const size = 4;

test("the values that were used last are kept", () => {
  assert(
    property(array(integer({ min: 0, max: 12 })), (uses) => {
      const values = new RecentValues<number>(size);
      for (const [at, use] of uses.entries()) {
        const lastUsed = [...new Set(uses.slice(0, at).toReversed())].slice(0, size);
        const known = values.get(String(use));
        if (lastUsed.includes(use)) expect(known).toBe(use);
        if (known === undefined) values.set(String(use), use);
      }
    }),
  );
});

test("at most twice the number of values is kept", () => {
  const values = new RecentValues<number>(size);
  const keys = Array.from({ length: 100 }, (_, index) => String(index));
  for (const key of keys) values.set(key, 1);
  const kept = keys.filter((key) => values.get(key) !== undefined);
  expect(kept.length).toBeLessThanOrEqual(2 * size);
});

test("a key over 256 characters is not kept", () => {
  const values = new RecentValues<number>(size);
  values.set("k".repeat(257), 1);
  values.set("k".repeat(256), 2);
  expect(values.get("k".repeat(257))).toBeUndefined();
  expect(values.get("k".repeat(256))).toBe(2);
});
