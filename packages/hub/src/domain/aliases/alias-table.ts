import { literalLength, matchesParts, partsOf, wildcardCount } from "./pattern.ts";

/** A name, or names of one form, that stand for others. Contract §3, "Aliases". */
export interface Alias {
  /** compared with the `model` field; `*` stands for any text */
  readonly pattern: string;
  /** selectors, or names of other aliases, in the order in which they are tried; at least one */
  readonly targets: readonly string[];
  /** epoch ms */
  readonly createdAt: number;
}

/** 256 characters, each of at most two UTF-16 units: a longer name is no alias's. */
const longestName = 512;

interface Glob {
  readonly alias: Alias;
  readonly parts: readonly string[];
}

/** The aliases of one room. It never changes: a change makes another table. */
export class AliasTable {
  /** the oldest first */
  readonly list: readonly Alias[];
  readonly #byPattern: ReadonlyMap<string, Alias>;
  /** those with wildcards, the first match first */
  readonly #globs: readonly Glob[];

  /** @param list - the oldest first, no pattern twice */
  constructor(list: readonly Alias[]) {
    this.list = list;
    this.#byPattern = new Map(list.map((alias) => [alias.pattern, alias]));
    this.#globs = list
      .filter(({ pattern }) => wildcardCount(pattern) > 0)
      // A stable sort: of two that say as much, the older one stays first.
      .sort((one, other) => literalLength(other.pattern) - literalLength(one.pattern))
      .map((alias) => ({ alias, parts: partsOf(alias.pattern) }));
  }

  get size(): number {
    return this.list.length;
  }

  /** The alias with exactly this pattern. */
  find(pattern: string): Alias | undefined {
    return this.#byPattern.get(pattern);
  }

  /** The alias that a name means: the one of that name, else the glob with the most literal characters, else the oldest. */
  match(name: string): Alias | undefined {
    if (name.length > longestName) return undefined;
    return (
      this.#byPattern.get(name) ?? this.#globs.find(({ parts }) => matchesParts(parts, name))?.alias
    );
  }

  /** With one more alias, or with another one in the place of that pattern. */
  with(alias: Alias): AliasTable {
    const isKnown = this.#byPattern.has(alias.pattern);
    return new AliasTable(
      isKnown
        ? this.list.map((one) => (one.pattern === alias.pattern ? alias : one))
        : [...this.list, alias],
    );
  }

  without(pattern: string): AliasTable {
    return new AliasTable(this.list.filter((one) => one.pattern !== pattern));
  }
}

export const noAliases = new AliasTable([]);
