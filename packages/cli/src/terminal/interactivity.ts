import type { CliContext, Terminal } from "../context.ts";
import { cutTo } from "./display-width.ts";

/** Whether a command may prompt, and whether it prints progress. */
export interface Interactivity {
  /** Whether prompts are possible; if not, missing values take their defaults or are errors. */
  canAsk: boolean;
  isQuiet: boolean;
}

/** Prompts require a terminal for input and output, and no option that rules them out. */
export function interactivityOf(
  context: CliContext,
  options: { yes?: boolean; json?: boolean; quiet?: boolean },
): Interactivity {
  const { yes = false, json = false, quiet = false } = options;
  return {
    canAsk: context.isStdinTTY && canErase(context) && !yes && !json && !quiet,
    isQuiet: json || quiet,
  };
}

/** Shorter waits are not reported. */
const patienceMs = 1000;

/**
 * Waits for some work, and prints a line when it takes over a second. On a terminal the line is erased afterwards.
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
  const { stderr, world } = context;
  let isShown = false;
  const timer = world.setTimeout(() => {
    if (context.roomKeys.isAsking) return;
    isShown = true;
    const line = `${text} …`;
    stderr.write(canErase(context) ? cutTo(line, (stderr.columns ?? 80) - 1) : `${line}\n`);
  }, afterMs);
  try {
    return await work;
  } finally {
    world.clearTimeout(timer);
    if (isShown && canErase(context)) stderr.write("\r\u001b[K");
  }
}

/** Whether a terminal supports prompts and erasing a line. */
export function canErase({ env, stderr }: CliContext, terminal: Terminal = stderr): boolean {
  return terminal.isTTY && env["TERM"] !== "dumb";
}
