import type { World } from "@roomhub/protocol";

/**
 * For work that may wait a little: a lone piece of work is done at the end of its turn of the event loop, frequent work is
 * done together, once in `gapMs`.
 */
export function createBatch(world: World, gapMs: number): (work: () => void) => void {
  let lastMs = Number.NEGATIVE_INFINITY;
  return (work) => {
    const waitMs = lastMs + gapMs - world.monotonicMs();
    const task = () => {
      lastMs = world.monotonicMs();
      work();
    };
    if (waitMs > 0) world.setTimeout(task, waitMs);
    else world.setImmediate(task);
  };
}
