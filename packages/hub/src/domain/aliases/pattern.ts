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

export function wildcardCount(pattern: string): number {
  return partsOf(pattern).length - 1;
}
