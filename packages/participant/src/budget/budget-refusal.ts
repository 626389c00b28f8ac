import type { ErrorShape } from "@roomhub/protocol";

/** A request that a participant does not serve now because of its budget. */
export interface BudgetRefusal {
  /** for the client: names the participant and says when to come back */
  message: string;
  retryAfterSeconds: number;
  /** the allowance of tokens that was checked, if any */
  tokens: { limit: number; remaining: number; resetMs: number } | undefined;
}

/** OpenAI's spelling: https://platform.openai.com/docs/guides/rate-limits, "Rate limits in headers". */
export function refusalHeaders({
  retryAfterSeconds,
  tokens,
}: BudgetRefusal): Record<string, string> {
  return {
    "content-type": "application/json",
    "retry-after": String(retryAfterSeconds),
    ...(tokens === undefined
      ? {}
      : {
          "x-ratelimit-limit-tokens": String(tokens.limit),
          "x-ratelimit-remaining-tokens": String(tokens.remaining),
          "x-ratelimit-reset-tokens": resetDuration(tokens.resetMs),
        }),
  };
}

/** An error body, in the shape that the surface's clients read. */
export function refusalBody({ message }: BudgetRefusal, shape: ErrorShape): Buffer {
  const type = "rate_limit_error";
  const body =
    shape === "anthropic"
      ? { type: "error", error: { type, message } }
      : { error: { message, type, param: "", code: "budget_exhausted" } };
  return Buffer.from(JSON.stringify(body));
}

/** `6h0m12s`, `1m30s`, `7s`, in whole seconds. */
function resetDuration(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1_000));
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60];
  const parts = [
    hours > 0 ? `${hours}h` : "",
    seconds >= 60 ? `${minutes}m` : "",
    `${seconds % 60}s`,
  ];
  return parts.join("");
}

/** For a sentence: `12 s`, `35 min`, `3 h 20 min`. */
export function durationInWords(ms: number): string {
  const seconds = Math.max(1, Math.ceil(ms / 1_000));
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.ceil(seconds / 60);
  const hours = Math.floor(minutes / 60);
  if (hours === 0) return `${minutes} min`;
  return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
}
