/** Runs an action again and again. @returns how to stop */
export type Every = (intervalMs: number, action: () => void) => () => void;

/** Does not keep the process alive. */
export const everyInterval: Every = (intervalMs, action) => {
  const timer = setInterval(action, intervalMs);
  timer.unref();
  return () => clearInterval(timer);
};
