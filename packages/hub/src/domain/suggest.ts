/** Nobody types more, and longer names differ before. */
const comparedLength = 100;

/**
 * The name somebody probably meant: one that differs in at most a third of its letters, or that contains what was
 * typed. Undefined when nothing is near.
 */
export function closest(wanted: string, names: readonly string[]): string | undefined {
  const typed = compared(wanted);
  const row = new Uint8Array(comparedLength + 1);
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(typed.length / 3)) + 1;
  for (const name of new Set(names)) {
    const distance = editDistance(typed, compared(name), bestDistance, row);
    if (distance < bestDistance) {
      best = name;
      bestDistance = distance;
    }
  }
  return best ?? names.find((name) => typed.length > 2 && name.toLowerCase().includes(typed));
}

function compared(name: string): string {
  // Cut first, because it may be as long as a body, and again, because lower case may be longer.
  return name.slice(0, comparedLength).toLowerCase().slice(0, comparedLength);
}

/**
 * Insertions, deletions and replacements between two short words, where they are less than `limit`; otherwise any number
 * that is not. A full room has thousands of names, so what cannot come out below the limit is not looked at.
 *
 * @param row - room for one number per letter of `to` and one more; may hold anything
 */
function editDistance(from: string, to: string, limit: number, row: Uint8Array): number {
  const surplus = to.length - from.length;
  if (Math.abs(surplus) >= limit) return limit;
  // Whoever strays further from the diagonal needs as many steps to come back. Ukkonen 1985.
  const stray = Math.floor((limit - 1 - Math.abs(surplus)) / 2);
  const left = stray + Math.max(0, -surplus);
  const right = stray + Math.max(0, surplus);
  for (let column = 0; column <= to.length; column++) row[column] = column;
  for (let line = 1; line <= from.length; line++) {
    const letter = from.charCodeAt(line - 1);
    const first = Math.max(1, line - left);
    const last = Math.min(to.length, line + right);
    let diagonal = row[first - 1] ?? 0;
    // Replacing everything is always possible: outside the band that is what a cell says.
    let before = line;
    row[first - 1] = line;
    let least = line;
    for (let column = first; column <= last; column++) {
      const above = row[column] ?? 0;
      const replaced = diagonal + (letter === to.charCodeAt(column - 1) ? 0 : 1);
      before = Math.min(replaced, above + 1, before + 1);
      row[column] = before;
      diagonal = above;
      if (before < least) least = before;
    }
    if (least >= limit) return limit;
  }
  return row[to.length] ?? 0;
}
