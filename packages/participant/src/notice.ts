import type { ClientIdentity, Load, Metrics, Readiness } from "@roomhub/protocol";

/** How a request ended: `cancelled` by the hub or a lost tunnel, `failed` at the provider. */
export type RequestOutcome = "complete" | "failed" | "cancelled" | "refused";

/** Why a participant stopped. `closed` means `close()` was called; every other code is a refusal by the hub. */
export interface StopReason {
  /** `closed`, `replaced`, or the hub's error code: `invalid_password`, `participant_token_invalid`, … */
  code: string;
  /** one line for display */
  reason: string;
  /** The next step, if there is one. */
  hint?: string | undefined;
}

/**
 * Speed of a response by the rules of `llm.complete`, measured from the request's arrival at this participant. Unknown
 * values are absent: a truncated response has no counts, and one without generated content has no metrics.
 */
export type ResponseMetrics = Omit<Partial<Metrics>, "durationMs">;

/** A request that a participant serves now. */
export interface RunningRequest {
  path: string;
  model: string;
  /** as in the notices of requests */
  client: ClientIdentity | undefined;
  /** since it arrived */
  runsMs: number;
  /** of a stream, with `countsTokens`: pieces of content, about one per token; undefined before the first */
  outputTokens: number | undefined;
}

/** An event of a participant, to display or log. Contains no header, password or token. */
export type ParticipantNotice =
  | {
      kind: "joined";
      room: string;
      id: string;
      warnings: readonly string[];
      /** whose slots it shares with other participants; undefined when it shares none, or the hub does not say */
      machine?: Load["machine"];
    }
  | { kind: "connected" }
  /** Once per outage and reason, regardless of the number of attempts. */
  | { kind: "disconnected"; reason: string; retryInMs: number }
  /** In place of `disconnected` while requests run: they are resumed if the tunnel is open again soon. */
  | { kind: "interrupted"; streams: number }
  /** In place of `connected`: the requests that ran when the tunnel was interrupted are resumed, `afterMs` later. */
  | { kind: "resumed"; afterMs: number; streams: number }
  /** The readiness of the model server changed; it starts as `ready`. */
  | {
      kind: "provider-readiness";
      readiness: Readiness;
      /** why it cannot take requests, as the end of a sentence about the server; undefined when it is ready */
      problem: string | undefined;
      /** epoch ms of the change */
      since: number;
    }
  /** The budget is used up, or it is outside the hours; `problem` is undefined when requests are served again. */
  | {
      kind: "budget";
      /** why no requests are served, as the end of a sentence about the participant */
      problem: string | undefined;
    }
  /** `followModel`: the server was restarted with another model, which is now shared. */
  | { kind: "model-changed"; from: string; to: string }
  | { kind: "request-started"; path: string; model: string; client: ClientIdentity | undefined }
  | ({
      kind: "request-ended";
      path: string;
      model: string;
      /** who sends it, by the hub's word; undefined from a hub that does not report it */
      client: ClientIdentity | undefined;
      /** undefined when the provider did not respond */
      status: number | undefined;
      durationMs: number;
      outcome: RequestOutcome;
      /** for programs, why it failed, was cancelled or refused: `provider_unreachable`, `cancelled`, … */
      code: string | undefined;
      /** the same as text for display */
      reason: string | undefined;
    } & ResponseMetrics)
  /** An error thrown by `serve`, or a bug: one request or callback failed; the participant continues. */
  | { kind: "fault"; error: unknown }
  | ({ kind: "stopped" } & StopReason);

/** Invalid options, or a refusal by the hub. `code` as in `StopReason`. */
export class ParticipantError extends Error {
  override readonly name = "ParticipantError";
  readonly code: string;
  /** The next step, if there is one. */
  readonly hint: string | undefined;

  constructor(code: string, message: string, hint?: string) {
    super(message);
    this.code = code;
    this.hint = hint;
  }
}
