import type { PasswordAttempts } from "./attempts.ts";
import type { PasswordVerifier } from "./passwords.ts";

export interface PasswordTry {
  verifier: PasswordVerifier;
  attempts: PasswordAttempts;
  /** from `attemptKey` */
  key: string;
  password: string | undefined;
  /** ms on the hub's clock; read again after a slow check */
  nowMs: () => number;
}

export type PasswordResult =
  | { kind: "right" }
  | { kind: "wrong" }
  | { kind: "throttled"; retryAfterMs: number };

/**
 * One try at a room's password, counted when it is wrong.
 *
 * The check may wait for others, so the count is looked at before, in the middle and after: of a thousand guesses sent
 * at once, those beyond the limit are `throttled` whatever they were, the right one included.
 */
export async function tryPassword(request: PasswordTry): Promise<PasswordResult> {
  const { verifier, attempts, key, password, nowMs } = request;
  const isAllowed = () => attempts.isAllowed(key, nowMs());
  if (!isAllowed()) return throttled(request);
  const isRight = await verifier.verify(password, isAllowed);
  if (!isAllowed()) return throttled(request);
  if (isRight) return { kind: "right" };
  attempts.recordFailure(key, nowMs());
  return { kind: "wrong" };
}

function throttled({ attempts, key, nowMs }: PasswordTry): PasswordResult {
  return { kind: "throttled", retryAfterMs: attempts.retryAfterMs(key, nowMs()) };
}
