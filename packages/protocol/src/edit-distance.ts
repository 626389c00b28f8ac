/**
 * Insertions, deletions and replacements between two words (Levenshtein) where they are fewer than `limit`; otherwise any
 * number from `limit` up. A full room has thousands of names, so work that cannot stay below the limit is skipped.
 *
 * @param row - scratch space for one number per letter of `to` and one more; any content
 */
export function editDistance(from: string, to: string, limit: number, row: Uint16Array): number {
  const surplus = to.length - from.length;
  if (Math.abs(surplus) >= limit) return limit;
  // Every step away from the diagonal needs a step back. Ukkonen 1985.
  const stray = Math.floor((limit - 1 - Math.abs(surplus)) / 2);
  const left = stray + Math.max(0, -surplus);
  const right = stray + Math.max(0, surplus);
  for (let column = 0; column <= to.length; column++) row[column] = column;
  for (let line = 1; line <= from.length; line++) {
    const letter = from.charCodeAt(line - 1);
    const first = Math.max(1, line - left);
    const last = Math.min(to.length, line + right);
    let diagonal = row[first - 1] ?? 0;
    // A cell outside the band counts as if every letter before it were replaced, which is always possible.
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
