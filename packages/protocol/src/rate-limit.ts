/** An allowance that was checked. */
export interface RateLimit {
  limit: number;
  remaining: number;
  resetMs: number;
}

/** OpenAI's spelling: https://platform.openai.com/docs/guides/rate-limits, "Rate limits in headers". */
export function rateLimitHeaders(
  unit: "requests" | "tokens",
  { limit, remaining, resetMs }: RateLimit,
): Record<string, string> {
  return {
    [`x-ratelimit-limit-${unit}`]: String(limit),
    [`x-ratelimit-remaining-${unit}`]: String(remaining),
    [`x-ratelimit-reset-${unit}`]: resetDuration(resetMs),
  };
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
