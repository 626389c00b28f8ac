/**
 * For work that may wait a little: a lone piece of work is done at the end of its turn of the event loop, frequent work is
 * done together, once in `gapMs`.
 *
 * @param nowMs - monotonic
 * @param wait - calls back after so many ms, or for 0 at the end of the turn
 */
export function createBatch(
  gapMs: number,
  nowMs: () => number,
  wait: (work: () => void, ms: number) => void = waitForReal,
): (work: () => void) => void {
  let lastMs = Number.NEGATIVE_INFINITY;
  return (work) => {
    const waitMs = Math.max(0, lastMs + gapMs - nowMs());
    wait(() => {
      lastMs = nowMs();
      work();
    }, waitMs);
  };
}

function waitForReal(work: () => void, ms: number): void {
  if (ms > 0) setTimeout(work, ms);
  else setImmediate(work);
}
