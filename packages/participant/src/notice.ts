import type { Metrics, Readiness } from "@roomhub/protocol";

/** How a request ended, seen from here: `cancelled` by the hub or a lost tunnel, `failed` at the provider. */
export type RequestOutcome = "complete" | "failed" | "cancelled" | "refused";

/** Why a participant is no more. `closed` is the owner's own wish; every other code is a refusal by the hub. */
export interface StopReason {
  /** `closed`, `replaced`, or the hub's error code: `invalid_password`, `participant_token_invalid`, … */
  code: string;
  /** one line for a person */
  reason: string;
  /** The next step, where there is one. */
  hint?: string | undefined;
}

/**
 * How fast an answer was, by the rules of `llm.complete`, from the request's arrival here. What is not known is absent: an
 * answer that broke off has no counts, and one in which nothing is generated has none of this.
 */
export type AnswerMetrics = Omit<Partial<Metrics>, "durationMs">;

/** What happens to a participant, for whoever shows or logs it. Carries no header, password or token. */
export type ParticipantNotice =
  | { kind: "joined"; room: string; id: string; warnings: readonly string[] }
  | { kind: "connected" }
  /** Once per outage and reason, however many attempts follow. */
  | { kind: "disconnected"; reason: string; retryInMs: number }
  /** The verdict on the model server is another; at first it is `ready`. */
  | {
      kind: "provider-readiness";
      readiness: Readiness;
      /** why no request should come, as the end of a sentence about the server; undefined when it is ready */
      problem: string | undefined;
      /** epoch ms: it has been so since then */
      since: number;
    }
  /** `followModel`: the server was restarted with another model, which is shared from now on. */
  | { kind: "model-changed"; from: string; to: string }
  | { kind: "request-started"; path: string; model: string }
  | ({
      kind: "request-ended";
      path: string;
      model: string;
      /** undefined when the provider gave no answer */
      status: number | undefined;
      durationMs: number;
      outcome: RequestOutcome;
      /** for programs, why it failed, was cancelled or refused: `provider_unreachable`, `cancelled`, … */
      code: string | undefined;
      /** the same for people */
      reason: string | undefined;
    } & AnswerMetrics)
  /** What `serve` threw, or a bug of ours: it cost one request or one callback; the participant lives on. */
  | { kind: "fault"; error: unknown }
  | ({ kind: "stopped" } & StopReason);
