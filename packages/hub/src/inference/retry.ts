import type { ErrorCode } from "@roomhub/protocol";
import type { CredentialUse, Participant } from "../domain/participant.ts";
import type { Selector } from "../domain/selection-query.ts";
import { mayMoveElsewhere } from "../domain/selector.ts";
import type { UpstreamFailure } from "./upstream.ts";

/** One request is sent to participants at most this often. Contract §3, "Retry". */
const maxAttempts = 3;

/**
 * Why an attempt failed, as far as it matters for the next one: the provider's status, a path that was lost before the
 * provider could respond, a tunnel that its agent never read, an agent that refuses for its budget, a prompt beyond the
 * context, a 503 while no other participant is ready, or anything else.
 */
export type FailureCause = number | "path" | "unread" | "budget" | "context" | "busy" | "other";

/** Codes of paths when the request may not have reached the provider; with `provider_error` the agent rejected it. */
const pathFailures: ReadonlySet<ErrorCode> = new Set([
  "tunnel_lost",
  "peer_unavailable",
  "provider_unreachable",
  "provider_error",
]);

/** The cause of a failure that a path reports. */
export function causeOf({ code, isUnread }: UpstreamFailure): FailureCause {
  if (isUnread === true) return "unread";
  return pathFailures.has(code) ? "path" : "other";
}

/** A failed attempt, before the head of the client's response is written. */
export interface FailedAttempt {
  cause: FailureCause;
  /** attempts so far, including this one, except attempts refused for a budget or by a loading server */
  attempts: number;
  participant: Participant;
  /** the credentials of the attempt */
  credentials: Pick<CredentialUse, "haveWorked">;
  selector: Selector;
  /** No other target of an alias follows. */
  isLastTarget: boolean;
  /** No other participant can serve the request, whatever the selector says. */
  isPinned: boolean;
  /** The participant reports that it is loading, which explains a 503. */
  isLoading: boolean;
}

/**
 * - `fail`: the client gets the failure
 * - `elsewhere`: another participant may serve the request; this one does not get it again
 * - `again`: the request waits until this participant is ready, or another is
 */
export type NextStep = "fail" | "elsewhere" | "again";

/** What becomes of a request whose attempt failed before anything was generated. Contract §3, "Retry". */
export function nextStep(failed: FailedAttempt): NextStep {
  const { cause, attempts, isPinned, isLastTarget, isLoading } = failed;
  if (cause === 503 && isLoading) return "again";
  if (attempts >= maxAttempts) return "fail";
  if (cause === "unread") return "again";
  if (isPinned) return "fail";
  if (isLastTarget && !mayMoveElsewhere(failed.selector, failed.participant)) return "fail";
  return mayDoBetterElsewhere(cause, failed.credentials) ? "elsewhere" : "fail";
}

function mayDoBetterElsewhere(
  cause: FailureCause,
  { haveWorked }: FailedAttempt["credentials"],
): boolean {
  switch (cause) {
    case "path":
    case "budget":
    // The caller checks that another participant may have a larger context.
    case "context":
    case 401:
    case 407:
    // The caller checks that another participant is ready.
    case 429:
    case 503:
    case "busy":
    // not implemented there
    case 501:
    case 502:
      return true;
    case 403:
      // With working credentials a 403 is about the prompt: the next gateway would refuse it too.
      return !haveWorked;
    default:
      return false;
  }
}
