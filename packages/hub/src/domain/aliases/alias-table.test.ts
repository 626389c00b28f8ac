import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Alias, AliasTable, noAliases } from "./alias-table.ts";
import { literalLength, matchesParts, partsOf } from "./pattern.ts";

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
