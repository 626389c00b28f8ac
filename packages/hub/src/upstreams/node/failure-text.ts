import { ERROR_STATUS, type ErrorCode } from "@roomhub/protocol";
import { RESET_CODES, type ResetCode } from "@roomhub/tunnel";
import type { ForwardRefusal, UpstreamFailure } from "../../inference/upstream.ts";

/** Six bytes each, when all of it is escaped, are within the 1,024 of a RESET. */
const maxMessageLength = 150;

/** A failure as the reason of a RESET: its code, a space, its message. */
export function failureText(code: ErrorCode, message: string): string {
  return `${code} ${message.slice(0, 6 * maxMessageLength)}`;
}

/** What a RESET of the hub that serves a request means for the hub that has its client. */
export function failureOf(code: ResetCode, text: string): UpstreamFailure {
  if (code === RESET_CODES.tunnelLost) {
    const message = `The link to the hub that has the participant was lost: ${text}`;
    return { code: "peer_unavailable", message };
  }
  const end = text.indexOf(" ");
  const named = text.slice(0, end);
  if (end > 0 && Object.hasOwn(ERROR_STATUS, named)) {
    return { code: named as ErrorCode, message: text.slice(end + 1) };
  }
  // A fault of this hub or of the other one: nothing shows that it reached the participant.
  return { code: "peer_unavailable", message: `The hub that has the participant failed: ${text}` };
}

/** A refusal as the reason of RESET 7. */
export function refusalText(refusal: ForwardRefusal): string {
  const message = refusal.message.slice(0, maxMessageLength);
  return JSON.stringify({ ...refusal, message });
}

const reasons = ["unknown", "full", "loading", "unroutable", "unsupported", "overloaded"] as const;

/** @returns undefined for what is no refusal */
export function refusalIn(text: string): ForwardRefusal | undefined {
  let value: Partial<Record<keyof ForwardRefusal, unknown>>;
  try {
    value = (JSON.parse(text) ?? {}) as typeof value;
  } catch {
    return undefined; // a session's own words: it has too many streams
  }
  const { message, elsewhere, limit } = value;
  const reason = reasons.find((one) => one === value.reason);
  if (reason === undefined || typeof message !== "string") return undefined;
  return { reason, message, elsewhere: countIn(elsewhere), limit: countIn(limit) };
}

function countIn(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
