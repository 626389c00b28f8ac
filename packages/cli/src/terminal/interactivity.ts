import type { CliContext } from "../context.ts";
import { canErase } from "./progress.ts";

/** How much a command may talk while it finds things out. */
export interface Interactivity {
  /** Somebody sits there who can answer; without, what is not said takes its default or is an error. */
  canAsk: boolean;
  isQuiet: boolean;
}

/** Questions need a terminal for them and one for the answers, and somebody who did not decline. */
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
