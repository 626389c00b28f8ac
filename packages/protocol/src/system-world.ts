import type { Timer, World } from "./world.ts";

interface Node {
  setImmediate(task: () => void): object;
  clearImmediate(timer: object): void;
}

/** Only in Node; a browser has no turn of its event loop to wait for. */
const node = globalThis as typeof globalThis & Partial<Node>;

/** The world of the platform: Node, or a browser. Nothing else reads its clocks, sets its timers or draws its numbers. */
export const systemWorld: World = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  random: () => Math.random(),
  randomUUID: () => crypto.randomUUID(),
  randomBytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
  setTimeout: (task, ms) => setTimeout(task, ms),
  clearTimeout: (timer) => clearTimeout(timer as number | undefined),
  setInterval: (task, ms) => setInterval(task, ms),
  clearInterval: (timer) => clearInterval(timer as number | undefined),
  setImmediate: (task) => node.setImmediate?.(task) ?? setTimeout(task),
  clearImmediate: (timer) =>
    typeof timer === "object" ? node.clearImmediate?.(timer) : clearTimeout(timer),
  unref(timer) {
    if (isNodeTimer(timer)) timer.unref();
    return timer;
  },
};

function isNodeTimer(timer: Timer): timer is { unref(): void } {
  return typeof timer === "object" && "unref" in timer;
}
