import { HubError } from "../../errors.ts";
import type { HeaderMap } from "./response-headers.ts";
import { readProviderError } from "./refusal.ts";

/** A day of 25 hours, when clocks are set back: the longest rest that an agent can ask for. */
const longestRestMs = 25 * 60 * 60_000;
/** the rest for a used-up budget when the agent names none */
export const defaultRestMs = 60_000;
const maxMessageLength = 512;

/** How long `retry-after` says, at most 25 h. @param otherwiseMs - when it does not */
export function retryAfterOf(headers: HeaderMap, otherwiseMs: number): number {
  const text = headers["retry-after"] ?? "";
  if (!/^\d{1,9}$/.test(text)) return otherwiseMs;
  return Math.min(longestRestMs, Number(text) * 1_000);
}

/** @param text - the body of the agent's refusal, scrubbed of the participant's secrets */
export function budgetRefusal(participantId: string, text: string, retryAfterMs: number): HubError {
  const { message = `The budget of ${participantId} is used up.` } = readProviderError(text);
  return new HubError("budget_exhausted", message.slice(0, maxMessageLength), {
    retryAfterMs,
    stage: "provider",
    hint: "Use another participant, or * for any that is ready.",
  });
}
