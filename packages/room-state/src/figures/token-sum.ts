/** Tokens of one or more requests; undefined when there was no request. */
export interface TokenSum {
  /** 0 when nothing is known */
  readonly tokens: number;
  /**
   * `exact`: all responses report them. `unknown`: none does. `estimate`: for the responses that do not report them, the
   * tokens seen in the stream are counted, possibly none.
   */
  readonly worth: "exact" | "estimate" | "unknown";
}

/**
 * Tokens of one response.
 *
 * @param reported - undefined when the model server does not say
 * @param seen - counted while it was generated
 */
export function tokensOf(reported: number | undefined, seen = 0): TokenSum {
  if (reported !== undefined) return { tokens: reported, worth: "exact" };
  return { tokens: seen, worth: seen > 0 ? "estimate" : "unknown" };
}

export function plusTokens(
  one: TokenSum | undefined,
  other: TokenSum | undefined,
): TokenSum | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const worth = one.worth === other.worth ? one.worth : "estimate";
  return { tokens: one.tokens + other.tokens, worth };
}

/** `1234`, `≈ 1234` for an estimate, and `–` where nothing is known. */
export function tokenText(
  sum: TokenSum | undefined,
  textOf: (tokens: number) => string = String,
): string {
  if (sum === undefined || sum.worth === "unknown") return "–";
  return `${sum.worth === "estimate" ? "≈ " : ""}${textOf(sum.tokens)}`;
}
