import {
  ERROR_STATUS,
  type ErrorCode,
  type FailureStage,
  type RateLimit,
  type Refusal,
  type TunnelAddress,
} from "@roomhub/protocol";

interface HubErrorDetails {
  stage?: FailureStage | undefined;
  /** the next step, as a command where there is one */
  hint?: string | undefined;
  /** the field at fault, dotted */
  param?: string | undefined;
  /** each participant that was considered, and why it was not selected */
  participants?: Refusal[] | undefined;
  /** the status of the response in place of the code's (a provider's 503 stays 503) */
  status?: number | undefined;
  retryAfterMs?: number | undefined;
  /** what is used up until then */
  limit?: UsedUp | undefined;
  /** where the tunnel of this handshake belongs */
  tunnel?: TunnelAddress | undefined;
  /** the epoch of the room's home, which is another hub */
  homeEpoch?: number | undefined;
  /** The same request would fail again, whatever the code's retry signal. */
  isFinal?: boolean | undefined;
  cause?: unknown;
}

interface UsedUp extends Pick<RateLimit, "limit"> {
  unit: "requests" | "tokens";
}

/**
 * A failure the caller can act on. Rendered as a response in `http/error-response.ts`, as an `llm.error` event in
 * `inference/dispatch.ts`, nowhere else. Anything else thrown is a bug and leaves the hub as `internal_error`.
 */
export class HubError extends Error {
  override readonly name = "HubError";
  readonly code: ErrorCode;
  readonly stage: FailureStage | undefined;
  readonly hint: string | undefined;
  readonly param: string;
  readonly participants: Refusal[] | undefined;
  readonly retryAfterMs: number | undefined;
  readonly limit: UsedUp | undefined;
  readonly isFinal: boolean;
  readonly tunnel: TunnelAddress | undefined;
  readonly homeEpoch: number | undefined;
  readonly #status: number | undefined;

  constructor(code: ErrorCode, message: string, details: HubErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.stage = details.stage ?? ERROR_STATUS[code].stage;
    this.hint = details.hint;
    this.param = details.param ?? "";
    this.participants = details.participants;
    this.retryAfterMs = details.retryAfterMs;
    this.limit = details.limit;
    this.tunnel = details.tunnel;
    this.homeEpoch = details.homeEpoch;
    this.isFinal = details.isFinal ?? false;
    this.#status = details.status;
  }

  get status(): number {
    return this.#status ?? ERROR_STATUS[this.code].status;
  }
}

/** Anything thrown, as an error for clients. A bug discloses no detail. @param onBug - reports it */
export function asHubError(thrown: unknown, onBug?: (bug: unknown) => void): HubError {
  if (thrown instanceof HubError) return thrown;
  onBug?.(thrown);
  return new HubError(
    "internal_error",
    "The hub failed on this request. Its log has the details.",
    { cause: thrown },
  );
}

/** Why something failed, in words: of an error its message. */
export function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
