import type { ReadStream } from "node:tty";

/** What the terminal itself would do with these keys, if it were not asked for single ones. */
export interface TerminalKeys {
  /** Ctrl+C */
  interrupt: () => void;
  /** Ctrl+Z; resolves when the program runs again */
  suspend: () => Promise<void>;
  /** Whether the terminal may be touched; it may not by what was sent to the background. */
  isInForeground: () => boolean;
}

/**
 * Reads single keys from a terminal until released; the terminal is then as it was. From anything else nothing is read.
 *
 * @returns releases the terminal
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
  const giveBack = () => {
    if (!isReading) return;
    isReading = false;
    input.off("data", onData);
    input.setRawMode(false);
    input.pause();
  };
  const suspend = async () => {
    giveBack();
    await terminalKeys.suspend();
    take();
  };
  take();
  return () => {
    isReleased = true;
    giveBack();
  };
}
