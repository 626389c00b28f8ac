/** The candidate that was probably meant, or undefined when none is near. Letter case, `-` and `_` do not count. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const wanted = plain(word);
  const [best] = candidates
    .map((candidate) => ({ candidate, distance: editDistance(wanted, plain(candidate)) }))
    .sort((one, other) => one.distance - other.distance);
  if (best === undefined || best.distance > Math.max(2, wanted.length * 0.4)) return undefined;
  return best.candidate;
}

function plain(word: string): string {
  return word.toLowerCase().replace(/[-_]/g, "");
}

/** Letters to insert, drop or change to make one word of the other (Levenshtein). */
function editDistance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const changed = (row[j - 1] ?? 0) + (one[i - 1] === other[j - 1] ? 0 : 1);
      next.push(Math.min(changed, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}
