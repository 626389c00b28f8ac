/** Long enough for a busy machine, short enough to name the wait that failed. */
export const longestWaitMs = Number(process.env["TESTS_LONGEST_WAIT_MS"] ?? 10_000);

/** @throws Error that names what did not happen in time */
export async function within<T>(
  work: Promise<T>,
  what: string,
  timeoutMs: number = longestWaitMs,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new Error(`waited ${timeoutMs} ms in vain for ${what}`)),
      timeoutMs,
    );
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Reads until the condition holds: for things that emit no event, such as a listing on the other side of a socket. */
export async function until<T>(
  what: string,
  ask: () => T | Promise<T>,
  holds: (value: T) => boolean,
  timeoutMs: number = longestWaitMs,
): Promise<T> {
  const giveUpMs = performance.now() + timeoutMs;
  for (;;) {
    const value = await ask();
    if (holds(value)) return value;
    if (performance.now() > giveUpMs) {
      throw new Error(`waited ${timeoutMs} ms in vain for ${what}; last: ${JSON.stringify(value)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** A promise to be kept by hand. */
export interface Gate {
  opened: Promise<void>;
  open(): void;
}

export function createGate(): Gate {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}
