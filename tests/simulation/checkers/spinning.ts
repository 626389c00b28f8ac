import type { History } from "../history.ts";

/** Far above what any load of a plan causes. */
const mostSteps = 8_000;

/** Nothing is tried again and again without a pause. */
export function nothingSpins({ scheduler }: History): string[] {
  const { mostInASecond } = scheduler;
  return mostInASecond > mostSteps ? [`${mostInASecond} steps within one second`] : [];
}
