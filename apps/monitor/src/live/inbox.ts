/** Values that arrive by callback and are read in a loop. */
export interface Inbox<Value> {
  put: (value: Value) => void;
  /** Everything that has arrived. */
  take: () => Value[];
  /** Resolves when something has arrived, when woken, and when the signal aborts. */
  changed: () => Promise<void>;
  wake: () => void;
}

/** A tab that was suspended for minutes drops what it missed instead of processing all of it. */
const capacity = 10_000;

/** @param onOverflow - called when values were dropped: read everything again */
export function createInbox<Value>(signal: AbortSignal, onOverflow: () => void): Inbox<Value> {
  let values: Value[] = [];
  let isWoken = false;
  let resolveChanged = () => {};
  const wake = () => {
    isWoken = true;
    resolveChanged();
  };
  signal.addEventListener("abort", wake);
  return {
    wake,
    put(value) {
      if (values.length >= capacity) {
        values = [];
        onOverflow();
      }
      values.push(value);
      wake();
    },
    take: () => values.splice(0),
    async changed() {
      if (!isWoken && !signal.aborted) {
        await new Promise<void>((resolve) => {
          resolveChanged = resolve;
        });
      }
      isWoken = false;
    },
  };
}
