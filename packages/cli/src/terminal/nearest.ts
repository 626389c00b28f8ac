import { editDistance } from "@roomhub/protocol";

/** The candidate closest to `word`, or undefined when none is similar. Ignores letter case, `-` and `_`. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const typed = plain(word);
  let best: string | undefined;
  let bestDistance = Math.floor(Math.max(2, typed.length * 0.4)) + 1;
  for (const candidate of candidates) {
    const name = plain(candidate);
    const distance = editDistance(typed, name, bestDistance, new Uint16Array(name.length + 1));
    if (distance >= bestDistance) continue;
    best = candidate;
    bestDistance = distance;
  }
  return best;
}

/** The next step for a setting, variable or limit that there is not. @param meant - the nearest of those there are */
export function meantSetting(meant: string | undefined): string {
  return meant === undefined ? "list all: roomhub config --limits" : `did you mean ${meant}?`;
}

function plain(word: string): string {
  return word.toLowerCase().replace(/[-_]/g, "");
}
