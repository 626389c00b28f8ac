import type { CliContext } from "../context.ts";
import { EXIT } from "../exit-code.ts";

/** One Ctrl+C may arrive twice: from the terminal, and from a parent process that forwards it. */
const sameSignalMs = 100;

/**
 * Runs work that a first SIGINT or SIGTERM ends gracefully, by aborting its signal; a second one exits immediately.
 */
export async function untilStopped<T>(
  context: CliContext,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  let firstMs: number | undefined;
  const release = context.onStopSignal(() => {
    if (firstMs === undefined) {
      firstMs = context.world.wallMs();
      controller.abort();
    } else if (context.world.wallMs() - firstMs >= sameSignalMs) {
      context.exitNow(EXIT.interrupted);
    }
  });
  try {
    return await work(controller.signal);
  } finally {
    release();
  }
}

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
