import { type Command, InvalidArgumentError, Option } from "commander";
import { parseHours } from "@roomhub/protocol";
import type { CliContext } from "../context.ts";
import { positiveArgument } from "../options.ts";
import type { ParticipantOptions } from "@roomhub/participant";

/** Options of commands that share within a budget. */
export interface BudgetOptionValues {
  tokensPerDay?: number;
  /** of earlier versions */
  perPersonTokensPerDay?: string;
  batchTokensPerDay?: number;
  requestsPerMinute?: number;
  hours?: string;
}

export function addBudgetOptions(command: Command): void {
  command
    .option(
      "--tokens-per-day <n>",
      "tokens that all requests may use per day (default: no limit)",
      positiveArgument,
    )
    .option(
      "--batch-tokens-per-day <n>",
      "tokens that batches may use per day (default: no limit)",
      positiveArgument,
    )
    .option(
      "--requests-per-minute <n>",
      "requests per minute (default: no limit)",
      positiveArgument,
    )
    .option(
      "--hours <from-to>",
      "local hours to share in, like 18-23 or 22-6 (default: all)",
      hoursArgument,
    )
    .addOption(new Option("--per-person-tokens-per-day <n>").hideHelp());
}

/** @returns undefined when no option was given */
export function budgetOf(
  { stderr }: CliContext,
  values: BudgetOptionValues,
): ParticipantOptions["budget"] {
  const { tokensPerDay, batchTokensPerDay, requestsPerMinute, hours } = values;
  if (values.perPersonTokensPerDay !== undefined) {
    stderr.write(
      "! --per-person-tokens-per-day limits nothing any more, since a name is only claimed; pass --tokens-per-day\n",
    );
  }
  const budget = { tokensPerDay, batchTokensPerDay, requestsPerMinute, hours };
  return Object.values(budget).every((limit) => limit === undefined) ? undefined : budget;
}

/** Checked here, so that a wrong one ends the command before it looks for models and rooms. */
export function hoursArgument(text: string): string {
  if (typeof parseHours(text) === "object") return text;
  throw new InvalidArgumentError("Must be two different hours from 0 to 24, like 18-23.");
}
