import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { aliasNamed, endlessChain, maxChainLength } from "./alias-chains.ts";
import { AliasTable } from "./alias-table.ts";

function tableOf(aliases: Record<string, string[]>): AliasTable {
  return new AliasTable(
    Object.entries(aliases).map(([pattern, targets]) => ({ pattern, targets, createdAt: 0 })),
  );
}

describe("the chain that does not end", () => {
  test.each<[string, Record<string, string[]>, string[] | undefined]>([
    ["of an alias to a model", { "claude-*": ["qwen3-coder", "*"] }, undefined],
    ["of any name to any participant", { "*": ["*"] }, undefined],
    ["of an alias to itself", { a: ["a"] }, ["a", "a"]],
    ["of two", { a: ["x", "b"], b: ["a"] }, ["a", "b", "a"]],
    ["behind an alias that is in none", { a: ["b"], b: ["c"], c: ["b"] }, ["b", "c", "b"]],
    ["of a glob to a name that it matches", { "qwen*": ["qwen3"] }, ["qwen*", "qwen*"]],
    ["of a glob to a model by its prefix", { "qwen*": ["model:qwen3"] }, undefined],
    ["of all names to one", { "*": ["qwen3"] }, ["*", "*"]],
    ["of two to one", { a: ["c"], b: ["c", "a"], c: ["llama3"] }, undefined],
  ])("%s", (_title, aliases, expected) => {
    expect(endlessChain(tableOf(aliases))).toEqual(expected);
  });

  test("is one of more than eight aliases, and eight are allowed", () => {
    const chain = (length: number) =>
      tableOf(
        Object.fromEntries(
          Array.from({ length }, (_, index) => [
            `a${index}`,
            [index === length - 1 ? "*" : `a${index + 1}`],
          ]),
        ),
      );
    expect(endlessChain(chain(maxChainLength))).toBeUndefined();
    expect(endlessChain(chain(maxChainLength + 1))).toHaveLength(maxChainLength + 1);
  });

  test("is found exactly where following target names does not end within eight aliases", () => {
    const name = fc.constantFrom("a", "b", "c", "ab", "ba", "*", "model:a");
    const pattern = fc.constantFrom("a", "b", "c", "ab", "a*", "*b", "*");
    const tables = fc.dictionary(pattern, fc.array(name, { minLength: 1, maxLength: 3 }));
    fc.assert(
      fc.property(tables, (aliases) => {
        const table = tableOf(aliases);
        const endless = endlessChain(table);
        expect(table.list.some(({ pattern: from }) => isLong(table, from, 1))).toBe(
          endless !== undefined,
        );
        for (const [index, from] of (endless ?? []).slice(0, -1).entries()) {
          const next = table.find(from)?.targets.map((one) => aliasNamed(table, one)?.pattern);
          expect(next).toContain(endless?.[index + 1]);
        }
      }),
    );
  });
});

/** Whether some way from an alias leads through more than eight of them, by trying all. */
function isLong(table: AliasTable, pattern: string, depth: number): boolean {
  if (depth > maxChainLength) return true;
  const targets = table.find(pattern)?.targets ?? [];
  return targets.some((target) => {
    const next = aliasNamed(table, target);
    return next !== undefined && isLong(table, next.pattern, depth + 1);
  });
}
