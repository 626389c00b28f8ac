import { type DailyHours, parseHours } from "@roomhub/protocol";
import { ParticipantError } from "../notice.ts";

/**
 * What a participant lets all hubs together spend at its provider. Counted per endpoint and credentials in a file on
 * this machine, which all participants of all processes share.
 */
export interface BudgetOptions {
  /** input and output tokens per local day; at least 1 */
  tokensPerDay?: number | undefined;
  /** of these, tokens that requests of batches may use; at least 1 */
  batchTokensPerDay?: number | undefined;
  /** requests in any 60 s; at least 1 */
  requestsPerMinute?: number | undefined;
  /** local hours in which requests are served: `18-23` is 18:00 to 22:59; `22-6` includes midnight */
  hours?: string | undefined;
}

/** The validated options. */
export interface BudgetRules {
  tokensPerDay: number | undefined;
  batchTokensPerDay: number | undefined;
  requestsPerMinute: number | undefined;
  hours: DailyHours | undefined;
}

/**
 * @returns undefined when nothing is limited
 * @throws ParticipantError `invalid_budget`
 */
export function readBudget(options: BudgetOptions | undefined): BudgetRules | undefined {
  const { tokensPerDay, batchTokensPerDay, requestsPerMinute, hours } = options ?? {};
  checkCount("tokensPerDay", tokensPerDay);
  checkCount("batchTokensPerDay", batchTokensPerDay);
  checkCount("requestsPerMinute", requestsPerMinute);
  const parsed = hours === undefined ? undefined : parseHours(hours);
  if (typeof parsed === "string") {
    throw new ParticipantError("invalid_budget", `The budget's hours ${parsed}.`);
  }
  const rules = { tokensPerDay, batchTokensPerDay, requestsPerMinute, hours: parsed };
  return Object.values(rules).every((rule) => rule === undefined) ? undefined : rules;
}

/** The largest count that fits into a line of the ledger. */
const maxCount = 1_000_000_000_000;

function checkCount(name: string, count: number | undefined): void {
  if (count === undefined) return;
  if (Number.isInteger(count) && count >= 1 && count <= maxCount) return;
  throw new ParticipantError(
    "invalid_budget",
    `The budget's ${name} is not a whole number from 1 to ${maxCount}.`,
  );
}
