import { type ErrorShape, type RateLimit, rateLimitHeaders } from "@roomhub/protocol";

/** A request that a participant does not serve now because of its budget. */
export interface BudgetRefusal {
  /** for the client: names the participant and says when to come back */
  message: string;
  retryAfterSeconds: number;
  /** Requests that are of no batch are served. */
  isForBatches?: true;
  /** the allowance of tokens that was checked, if any */
  tokens: RateLimit | undefined;
}

export function refusalHeaders({
  retryAfterSeconds,
  tokens,
}: BudgetRefusal): Record<string, string> {
  return {
    "content-type": "application/json",
    "retry-after": String(retryAfterSeconds),
    ...(tokens && rateLimitHeaders("tokens", tokens)),
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
