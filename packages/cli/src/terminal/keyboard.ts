import type { ReadStream } from "node:tty";

/** What the terminal itself does on these keys when it is not in raw mode. */
export interface TerminalKeys {
  /** Ctrl+C */
  interrupt: () => void;
  /** Ctrl+Z; resolves when the program runs again */
  suspend: () => Promise<void>;
  /** Whether the process is in the foreground; in the background it must not use the terminal. */
  isInForeground: () => boolean;
}

/**
 * Reads single keys from a terminal until released; does nothing for any other input.
 *
 * @returns stops reading and restores the terminal
 */
export function readKeys(
  input: ReadStream,
  terminalKeys: TerminalKeys,
  onKey: (key: string) => void,
): () => void {
  if (!input.isTTY) return () => {};
  const onData = (data: Buffer | string) => {
    for (const key of data.toString()) {
      if (key === "\u0003") terminalKeys.interrupt();
      else if (key === "\u001a") void suspend();
      else onKey(key);
    }
  };
  let isReading = false;
  let isReleased = false;
  const take = () => {
    if (isReleased || !terminalKeys.isInForeground()) return;
    isReading = true;
    input.setRawMode(true);
    input.on("data", onData);
    input.resume();
  };
  const restore = () => {
    if (!isReading) return;
    isReading = false;
    input.off("data", onData);
    input.setRawMode(false);
    input.pause();
  };
  const suspend = async () => {
    restore();
    await terminalKeys.suspend();
    take();
  };
  take();
  return () => {
    isReleased = true;
    restore();
  };
}
