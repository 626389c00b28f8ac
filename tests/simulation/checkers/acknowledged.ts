import type { History } from "../history.ts";

/**
 * What a hub confirmed is there at every hub, whatever was killed since. While its disk is full, and until the next start
 * after one on a full disk, a hub says in its log that it keeps nothing. Contract §1.
 */
export function acknowledgedIsThere({ plan, missing }: History): string[] {
  const fullFromMs = Math.min(
    ...plan.faults.filter(({ kind }) => kind === "full disk").map(({ atMs }) => atMs),
  );
  return missing
    .filter(({ change }) => change.acknowledgedMs < fullFromMs)
    .map(({ change, hub }) => {
      const { planned, sentMs } = change;
      return `${planned.name} was confirmed at ${sentMs.toFixed(0)} ms and is not at ${hub}`;
    });
}
