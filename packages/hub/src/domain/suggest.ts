/**
 * The name somebody probably meant: one that differs in at most a third of its letters, or that contains what was
 * typed. Undefined when nothing is near.
 */
export function closest(wanted: string, names: readonly string[]): string | undefined {
  const typed = wanted.toLowerCase().slice(0, 100);
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(typed.length / 3)) + 1;
  for (const name of new Set(names)) {
    const candidate = name.toLowerCase().slice(0, 100);
    // The lengths alone are too far apart: most names of a full room are left here.
    if (Math.abs(candidate.length - typed.length) >= bestDistance) continue;
    const distance = editDistance(typed, candidate);
    if (distance < bestDistance) {
      best = name;
      bestDistance = distance;
    }
  }
  return best ?? names.find((name) => typed.length > 2 && name.toLowerCase().includes(typed));
}

/** Insertions, deletions and replacements between two short words. */
function editDistance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const replaced = (previous[column - 1] ?? 0) + (from[row - 1] === to[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[to.length] ?? 0;
}
