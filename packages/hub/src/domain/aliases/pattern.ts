/**
 * Whether a name matches a pattern in which `*` stands for any text, also for none; everything else stands for itself.
 * Each part is searched once, from where the one before it ended, so that no name costs more than its length.
 */
export function matchesPattern(pattern: string, name: string): boolean {
  const parts = pattern.split("*");
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
  return pattern.split("*").length - 1;
}
