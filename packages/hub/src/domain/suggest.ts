import { editDistance } from "@roomhub/protocol";

/** Typed names are not longer, and longer names differ before. */
const comparedLength = 100;

/**
 * The name that was probably meant: one that differs in at most a third of its letters, or that contains what was
 * typed. Undefined when nothing is near.
 */
export function closest(unknownName: string, names: readonly string[]): string | undefined {
  const typed = compared(unknownName);
  const row = new Uint16Array(comparedLength + 1);
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
