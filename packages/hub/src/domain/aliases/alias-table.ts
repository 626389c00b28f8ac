/** A name, or names of one form, that stand for others. Contract §3, "Aliases". */
export interface Alias {
  /** compared with the `model` field; `*` stands for any text */
  readonly pattern: string;
  /** selectors, in the order in which they are tried; at least one */
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

  /** An alias and the target of it that is the pattern of an alias, too; undefined when all targets lead to models. */
  get chain(): { readonly alias: Alias; readonly target: string } | undefined {
    for (const alias of this.list) {
      const target = alias.targets.find((one) => targetAlias(this.#byPattern, one) !== undefined);
      if (target !== undefined) return { alias, target };
    }
    return undefined;
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

/** `*` as a target means any participant, never the alias of that pattern. */
function targetAlias(byPattern: ReadonlyMap<string, Alias>, target: string): Alias | undefined {
  return target === "*" ? undefined : byPattern.get(target);
}

/**
 * The same aliases with the targets of an alias in place of its name. Earlier versions stored aliases that lead to aliases.
 * Each alias counts once, in its first place.
 */
export function withoutChains(list: readonly Alias[]): readonly Alias[] {
  const byPattern = new Map(list.map((alias) => [alias.pattern, alias]));
  const targetsOf = (alias: Alias, followed: Set<Alias>): readonly string[] => {
    followed.add(alias);
    return alias.targets.flatMap((target) => {
      const next = targetAlias(byPattern, target);
      if (next === undefined) return [target];
      return followed.has(next) ? [] : targetsOf(next, followed);
    });
  };
  return list.map((alias) => ({ ...alias, targets: targetsOf(alias, new Set()) }));
}

/** The parts of a pattern, between the `*` that stand for any text, also for none. */
export function partsOf(pattern: string): readonly string[] {
  return pattern.split("*");
}

/**
 * Whether a name is made of these parts, with any text between them. Each part is searched once, from where the one before
 * it ended, so that the cost grows with the name's length and no faster.
 */
export function matchesParts(parts: readonly string[], name: string): boolean {
  const first = parts[0] ?? "";
  if (parts.length === 1) return name === first;
  const last = parts.at(-1) ?? "";
  if (name.length < first.length + last.length) return false;
  if (!name.startsWith(first) || !name.endsWith(last)) return false;
  const end = name.length - last.length;
  let from = first.length;
  for (const part of parts.slice(1, -1)) {
    const at = name.indexOf(part, from);
    if (at < 0 || at + part.length > end) return false;
    from = at + part.length;
  }
  return true;
}

/** How many of a pattern's characters stand for themselves: of two that match, the one with more says more. */
export function literalLength(pattern: string): number {
  return pattern.length - wildcardCount(pattern);
}

function wildcardCount(pattern: string): number {
  return partsOf(pattern).length - 1;
}
