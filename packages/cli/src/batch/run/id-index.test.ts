import * as fc from "fast-check";
import { expect, test } from "vitest";
import { IdIndex } from "./id-index.ts";

test("each text is found by its number, however many there are, and no other is", () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string(), { maxLength: 3_000, size: "max" }), (texts) => {
      const index = new IdIndex();
      const [unknown = "", ...added] = texts;
      for (const text of added) index.add(text);
      expect(added.map((text) => index.find(text))).toEqual(added.map((_, number) => [number]));
      expect(index.find(unknown)).toEqual([]);
    }),
    { numRuns: 20 },
  );
});

test("texts with one hash are all candidates, the first one first", () => {
  const index = new IdIndex(() => ({ high: 1, low: 2 }));
  for (const text of ["a", "b", "c"]) index.add(text);
  expect(index.find("b")).toEqual([0, 1, 2]);
});
