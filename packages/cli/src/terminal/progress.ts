import type { CliContext, Terminal } from "../context.ts";
import { cutTo } from "./display-width.ts";

/** A wait shorter than this needs no words. */
const patienceMs = 1000;

/**
 * Waits for something, and says for what when it takes over a second: on a terminal in a line that is gone afterwards, else
 * in a line that stays.
 *
 * @param text - like "Waiting for the hub"
 */
export async function waitingFor<T>(
  context: CliContext,
  text: string,
  work: Promise<T>,
  { isQuiet, afterMs = patienceMs }: { isQuiet: boolean; afterMs?: number | undefined },
): Promise<T> {
  if (isQuiet) return work;
  const { stderr } = context;
  let isShown = false;
  const cancel = context.after(afterMs, () => {
    isShown = true;
    const line = `${text} …`;
    stderr.write(canErase(context) ? cutTo(line, (stderr.columns ?? 80) - 1) : `${line}\n`);
  });
  try {
    return await work;
  } finally {
    cancel();
    if (isShown && canErase(context)) stderr.write("\r\u001b[K");
  }
}

/** Whether somebody can be asked, and a line taken back. */
export function canErase({ stderr, env }: { stderr: Terminal; env: CliContext["env"] }): boolean {
  return stderr.isTTY && env["TERM"] !== "dumb";
}
