interface AttemptLimits {
  /** wrong passwords at once */
  burst: number;
  /** one more is allowed each */
  intervalMs: number;
  /** callers remembered at once; 10,000 when left out */
  maxCallers?: number | undefined;
}

/**
 * Counts WRONG passwords per room and address: `burst` at once, then one per `intervalMs`.
 *
 * Right passwords cost nothing. Reads no clock: `nowMs` is the hub's monotonic one.
 */
export interface PasswordAttempts {
  isAllowed(key: string, nowMs: number): boolean;
  recordFailure(key: string, nowMs: number): void;
  /** 0 while an attempt is allowed */
  retryAfterMs(key: string, nowMs: number): number;
  /** Failures that still count, from 0 to `burst`: one is forgiven each `intervalMs`. */
  spent(key: string, nowMs: number): number;
  /** Of the keys that begin so: those with failures that count, and in how many ms none does. */
  all(prefix: string, nowMs: number): [key: string, untilFullMs: number][];
  /** What {@link all} said elsewhere. */
  restore(key: string, untilFullMs: number, nowMs: number): void;
}

/** @param address - the peer's, or undefined when it has none: all of those share one count per room */
export function attemptKey(roomCode: string, address: string | undefined): string {
  return `${roomCode} ${address ?? "?"}`;
}

export function createPasswordAttempts(limits: AttemptLimits): PasswordAttempts {
  const { burst, intervalMs, maxCallers = 10_000 } = limits;
  // Per caller the moment when its bucket is full again: one number says all, and a moment in the past says nothing.
  const fullAtMs = new Map<string, number>();
  const retryAfterMs = (key: string, nowMs: number) =>
    Math.max(0, (fullAtMs.get(key) ?? nowMs) - nowMs - (burst - 1) * intervalMs);

  const keep = (key: string, fullAt: number, nowMs: number) => {
    // Deleted first, so that the map stays ordered by the last failure.
    fullAtMs.delete(key);
    if (fullAtMs.size >= maxCallers) forgetOldest(fullAtMs, nowMs);
    fullAtMs.set(key, Math.min(fullAt, nowMs + burst * intervalMs));
  };

  return {
    retryAfterMs,
    spent: (key, nowMs) => {
      const untilFullMs = Math.max(0, (fullAtMs.get(key) ?? nowMs) - nowMs);
      return intervalMs === 0 ? 0 : Math.ceil(untilFullMs / intervalMs);
    },
    isAllowed: (key, nowMs) => retryAfterMs(key, nowMs) === 0,
    recordFailure(key, nowMs) {
      keep(key, Math.max(fullAtMs.get(key) ?? nowMs, nowMs) + intervalMs, nowMs);
    },
    all: (prefix, nowMs) =>
      [...fullAtMs].flatMap(([key, fullAt]) =>
        key.startsWith(prefix) && fullAt > nowMs ? [[key, fullAt - nowMs]] : [],
      ),
    restore: (key, untilFullMs, nowMs) => keep(key, nowMs + untilFullMs, nowMs),
  };
}

/** At least one, and with it all behind it whose bucket is full again. */
function forgetOldest(fullAtMs: Map<string, number>, nowMs: number): void {
  let isFirst = true;
  for (const [key, fullAt] of fullAtMs) {
    if (!isFirst && fullAt > nowMs) return;
    fullAtMs.delete(key);
    isFirst = false;
  }
}
