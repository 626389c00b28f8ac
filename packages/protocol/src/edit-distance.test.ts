import { assert, integer, property, stringMatching } from "fast-check";
import { expect, test } from "vitest";
import { editDistance } from "./edit-distance.ts";

test.each([
  ["", "", 0],
  ["rooms", "rooms", 0],
  ["room", "rooms", 1],
  ["", "abc", 3],
  ["kitten", "sitting", 3],
  ["abcd", "badc", 3],
])("%j and %j are %i edits apart", (from, to, edits) => {
  const row = new Uint16Array(to.length + 1);
  expect(editDistance(from, to, 10, row)).toBe(edits);
});

/** The textbook definition, without a limit. */
function textbookDistance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let line = 1; line <= from.length; line++) {
    const current = [line];
    for (let column = 1; column <= to.length; column++) {
      const replaced = previous[column - 1]! + (from[line - 1] === to[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, previous[column]! + 1, current[column - 1]! + 1));
    }
    previous = current;
  }
  return previous[to.length]!;
}

test("a distance below the limit is exact, and any other is at least the limit", () => {
  const word = stringMatching(/^[abc]{0,12}$/);
  const row = new Uint16Array(13).fill(7);
  assert(
    property(word, word, integer({ min: 1, max: 14 }), (from, to, limit) => {
      const exact = textbookDistance(from, to);
      const distance = editDistance(from, to, limit, row);
      if (exact < limit) expect(distance).toBe(exact);
      else expect(distance).toBeGreaterThanOrEqual(limit);
    }),
    { numRuns: 2_000 },
  );
});
