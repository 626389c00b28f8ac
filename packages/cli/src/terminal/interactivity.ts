import type { CliContext } from "../context.ts";
import { canErase } from "./progress.ts";

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
