/**
 * For work that may wait a little: what comes alone is done at the end of its turn of the event loop, what comes often is
 * done together, once in `gapMs`.
 *
 * @param nowMs - monotonic
 * @param wait - calls back after so many ms, or for 0 at the end of the turn
 */
export function createPace(
  gapMs: number,
  nowMs: () => number,
  wait: (work: () => void, ms: number) => void = waitForReal,
): (work: () => void) => void {
  let lastMs = Number.NEGATIVE_INFINITY;
  return (work) => {
    wait(
      () => {
        lastMs = nowMs();
        work();
      },
      Math.max(0, lastMs + gapMs - nowMs()),
    );
  };
}

function waitForReal(work: () => void, ms: number): void {
  if (ms > 0) setTimeout(work, ms);
  else setImmediate(work);
}
