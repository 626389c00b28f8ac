import * as fc from "fast-check";
import { expect, test } from "vitest";
import { matchesParts, partsOf } from "./pattern.ts";

test.each([
  ["claude-*", "claude-sonnet-4-5", true],
  ["claude-*", "claude-", true],
  ["claude-*", "Claude-sonnet", false],
  ["claude-*", "my-claude-1", false],
  ["*", "", true],
  ["gpt-4?", "gpt-4o", false],
  ["o[13]", "o1", false],
  ["a*b*a", "aba", true],
  ["ab*ba", "aba", false],
  ["*-latest", "codex-mini-latest", true],
])("%s matches %s: %s", (pattern, name, expected) => {
  expect(matchesPattern(pattern, name)).toBe(expected);
});

function matchesPattern(pattern: string, name: string): boolean {
  return matchesParts(partsOf(pattern), name);
}

const letters = fc.string({ unit: fc.constantFrom("a", "b", "."), maxLength: 12 });
const patterns = fc
  .array(letters, { minLength: 1, maxLength: 5 })
  .map((parts) => parts.map((part) => part.slice(0, 3)).join("*"));

test("a pattern matches what the same regular expression matches", () => {
  fc.assert(
    fc.property(patterns, letters, (pattern, name) => {
      const expression = pattern
        .split("*")
        .map((part) => part.replaceAll(".", "\\."))
        .join("[^]*");
      expect(matchesPattern(pattern, name)).toBe(new RegExp(`^${expression}$`).test(name));
    }),
  );
});

test("a name made of a pattern matches it", () => {
  fc.assert(
    fc.property(patterns, fc.array(letters, { minLength: 4, maxLength: 4 }), (pattern, texts) => {
      let next = 0;
      expect(
        matchesPattern(
          pattern,
          pattern.replaceAll("*", () => texts[next++] ?? ""),
        ),
      ).toBe(true);
    }),
  );
});
