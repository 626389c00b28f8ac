import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type Alias,
  AliasTable,
  noAliases,
  literalLength,
  matchesParts,
  partsOf,
  withoutChains,
} from "./alias-table.ts";

function tableOf(...patterns: string[]): AliasTable {
  return new AliasTable(
    patterns.map((pattern, index) => ({ pattern, targets: ["*"], createdAt: index })),
  );
}

describe("the alias that a name means", () => {
  test.each([
    ["claude-opus", ["claude-*", "claude-opus", "*"], "claude-opus"],
    ["claude-haiku", ["*", "claude-*", "claude-h*"], "claude-h*"],
    ["claude-haiku", ["claude-*", "*-haiku", "*"], "claude-*"],
    ["a-b", ["*-b", "a-*"], "*-b"],
    ["a-b", ["a-*", "*-b"], "a-*"],
    ["claude-*", ["claude-*"], "claude-*"],
    ["llama3", ["claude-*"], undefined],
  ])("of %s in %j is %s", (name, patterns, expected) => {
    expect(tableOf(...patterns).match(name)?.pattern).toBe(expected);
  });

  test("of a name of more than 256 characters is none", () => {
    expect(tableOf("*").match("🐻".repeat(256))).toBeDefined();
    expect(tableOf("*").match("a".repeat(513))).toBeUndefined();
  });

  test("is its own, else one that no other glob outdoes, the oldest of equals", () => {
    const pattern = fc.string({ unit: fc.constantFrom("a", "b", "*"), maxLength: 6 });
    const patterns = fc.uniqueArray(pattern, { maxLength: 12 });
    const names = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 8 });
    fc.assert(
      fc.property(patterns, names, (all, name) => {
        const table = tableOf(...all);
        const matching = table.list.filter((one) => matchesParts(partsOf(one.pattern), name));
        const most = Math.max(...matching.map((one) => literalLength(one.pattern)));
        const expected =
          matching.find((one) => one.pattern === name) ??
          matching.find((one) => literalLength(one.pattern) === most);
        expect(table.match(name)).toBe(expected);
      }),
    );
  });
});

describe("a table", () => {
  const alias: Alias = { pattern: "b", targets: ["llama3"], createdAt: 9 };

  test("with another alias of a known pattern has it in the same place", () => {
    const table = tableOf("a", "b", "c").with(alias);
    expect(table.list.map(({ pattern }) => pattern)).toEqual(["a", "b", "c"]);
    expect(table.find("b")).toBe(alias);
  });

  test("with a new alias has it last, and the table before is as it was", () => {
    const before = tableOf("a");
    expect(before.with(alias).list.map(({ pattern }) => pattern)).toEqual(["a", "b"]);
    expect(before.size).toBe(1);
  });

  test("without a pattern no longer matches it", () => {
    expect(tableOf("a", "b*").without("b*").match("bc")).toBeUndefined();
    expect(noAliases.without("a").size).toBe(0);
  });
});

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

function aliasesOf(targets: Record<string, string[]>): Alias[] {
  return Object.entries(targets).map(([pattern, each]) => ({
    pattern,
    targets: each,
    createdAt: 0,
  }));
}

describe("a table of an earlier version, in which aliases lead to aliases", () => {
  test.each<[string, Record<string, string[]>, string[]]>([
    ["in its place", { a: ["x", "big", "*"], big: ["ana", "y"] }, ["x", "ana", "y", "*"]],
    ["once", { a: ["one", "two"], one: ["c"], two: ["c", "*"], c: ["ana"] }, ["ana", "*"]],
    ["but not a pattern that matches", { a: ["qwen3"], "qwen*": ["ana"] }, ["qwen3"]],
  ])("has the targets of an alias %s", (_title, targets, expected) => {
    const [first] = withoutChains(aliasesOf(targets));
    expect(first?.targets).toEqual(expected);
  });

  test("has no chain any more, whatever the table is", () => {
    const name = fc.constantFrom("a", "b", "c", "*", "x");
    const pattern = fc.constantFrom("a", "b", "c", "a*", "*");
    const tables = fc.dictionary(pattern, fc.array(name, { minLength: 1, maxLength: 16 }));
    fc.assert(
      fc.property(tables, (targets) => {
        const most = Object.values(targets).flat().length;
        const list = withoutChains(aliasesOf(targets));
        expect(new AliasTable(list).chain).toBeUndefined();
        for (const one of list) expect(one.targets.length).toBeLessThanOrEqual(most);
      }),
    );
  });
});
