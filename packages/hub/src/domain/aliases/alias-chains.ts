import { parseSelector } from "../selection-query.ts";
import type { Alias, AliasTable } from "./alias-table.ts";

/** How many aliases one name may lead through. Contract §3, "Aliases". */
export const maxChainLength = 8;

/**
 * The patterns of aliases that lead to each other without end, or through more of them than {@link maxChainLength}, in the
 * order in which they are followed; undefined when every chain ends. No name counts as an id or a model here: whichever
 * participants leave, the table holds.
 */
export function endlessChain(table: AliasTable): readonly string[] | undefined {
  const longest = new Map<Alias, readonly string[]>();
  const open: Alias[] = [];

  /** @returns the chain that does not end; undefined when all from here on do, the longest of which is in `longest` */
  function follow(alias: Alias): readonly string[] | undefined {
    const { pattern } = alias;
    if (open.includes(alias)) {
      return [...open.slice(open.indexOf(alias)).map((one) => one.pattern), pattern];
    }
    if (longest.has(alias)) return undefined;
    open.push(alias);
    let behind: readonly string[] = [];
    for (const next of followers(table, alias)) {
      const endless = follow(next);
      if (endless !== undefined) return endless;
      const chain = longest.get(next) ?? [];
      if (chain.length > behind.length) behind = chain;
    }
    open.pop();
    longest.set(alias, [pattern, ...behind]);
    return undefined;
  }

  for (const alias of table.list) {
    const endless = follow(alias);
    if (endless !== undefined) return endless;
    const chain = longest.get(alias) ?? [];
    if (chain.length > maxChainLength) return chain;
  }
  return undefined;
}

/** The aliases that an alias's targets name. */
function followers(table: AliasTable, { targets }: Alias): Alias[] {
  return targets.flatMap((target) => aliasNamed(table, target) ?? []);
}

/** The alias that a text means as a selector: `*`, `any` and `model:…` are never aliases. */
export function aliasNamed(table: AliasTable, text: string): Alias | undefined {
  const selector = parseSelector(text);
  return selector.kind === "name" ? table.match(selector.name) : undefined;
}
