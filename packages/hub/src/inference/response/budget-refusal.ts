import { HubError } from "../../errors.ts";
import type { HeaderMap } from "./response-headers.ts";
import { readProviderError } from "./refusal.ts";

/** A day of 25 hours, when clocks are set back: an agent is not believed for longer. */
const longestRestMs = 25 * 60 * 60_000;
const defaultRestMs = 60_000;
const maxMessageLength = 512;

/** How long an agent says that its budget is used up, from 1 s to 25 h; 1 min when it does not say. */
export function retryAfterOf(headers: HeaderMap): number {
  const text = headers["retry-after"] ?? "";
  if (!/^\d{1,9}$/.test(text)) return defaultRestMs;
  return Math.min(longestRestMs, Math.max(1_000, Number(text) * 1_000));
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
