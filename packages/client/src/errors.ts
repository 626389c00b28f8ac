import type { Refusal } from "@roomhub/protocol";

/** What {@link RoomhubError} carries beside its message. */
export interface RoomhubErrorDetails {
  status: number;
  code: string;
  param: string;
  hint: string | undefined;
  requestId: string | undefined;
  retryAfterMs: number | undefined;
  participants: readonly Refusal[] | undefined;
}

/** The hub answered, and the answer is a refusal. Contract §6. */
export class RoomhubError extends Error {
  override readonly name = "RoomhubError";
  readonly status: number;
  /** A code of `ERROR_STATUS`, a provider's own, or `invalid_response` when the answer is no hub's. */
  readonly code: string;
  /** The field at fault, `""` when none is. */
  readonly param: string;
  /** The next step, as a command where there is one. */
  readonly hint: string | undefined;
  readonly requestId: string | undefined;
  /** How long the hub asks to wait before trying again, ms. */
  readonly retryAfterMs: number | undefined;
  /** On refusals: who is there, and why each was not taken. */
  readonly participants: readonly Refusal[] | undefined;

  constructor(message: string, details: RoomhubErrorDetails) {
    super(message);
    this.status = details.status;
    this.code = details.code;
    this.param = details.param;
    this.hint = details.hint;
    this.requestId = details.requestId;
    this.retryAfterMs = details.retryAfterMs;
    this.participants = details.participants;
  }
}

/** Nobody answered at the hub's URL. The message names the URL and the next step. */
export class HubUnreachableError extends Error {
  override readonly name = "HubUnreachableError";
  readonly hubUrl: string;

  constructor(hubUrl: string, cause: unknown) {
    super(
      `No hub answers at ${hubUrl} (${reasonOf(cause)}). Is it running? Start one with: roomhub serve`,
      { cause },
    );
    this.hubUrl = hubUrl;
  }
}

/**
 * The error of an answer that is not a success.
 *
 * @param body - the answer's text, of any shape: a proxy in between may have made it
 */
export function errorFromResponse(response: Response, body: string): RoomhubError {
  const error = errorField(body);
  const message = textField(error, "message");
  return new RoomhubError(
    message ?? `${response.url} answered ${response.status} ${response.statusText}`.trim(),
    {
      status: response.status,
      code: textField(error, "code") ?? (message === undefined ? "invalid_response" : ""),
      param: textField(error, "param") ?? "",
      hint:
        textField(error, "hint") ??
        (message === undefined
          ? "check the hub URL: this does not look like a roomhub hub"
          : undefined),
      requestId: response.headers.get("x-request-id") ?? undefined,
      retryAfterMs: retryAfterMs(response.headers),
      participants: refusals(error?.["participants"]),
    },
  );
}

/** The error of a success whose body is not a hub's. */
export function notAHub(response: Response): RoomhubError {
  return new RoomhubError(`${response.url} answered something that is not roomhub's JSON`, {
    status: response.status,
    code: "invalid_response",
    param: "",
    hint: "check the hub URL: this does not look like a roomhub hub",
    requestId: response.headers.get("x-request-id") ?? undefined,
    retryAfterMs: undefined,
    participants: undefined,
  });
}

function errorField(body: string): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = JSON.parse(body);
    const error = isRecord(parsed) ? parsed["error"] : undefined;
    return isRecord(error) ? error : undefined;
  } catch {
    // Not JSON: the caller says so with the status.
    return undefined;
  }
}

function refusals(value: unknown): readonly Refusal[] | undefined {
  if (!Array.isArray(value)) return undefined;
  return value.filter(isRecord).map((entry) => ({
    id: textField(entry, "id") ?? "",
    model: textField(entry, "model") ?? "",
    reason: textField(entry, "reason") ?? "",
  }));
}

function retryAfterMs(headers: Headers): number | undefined {
  const exact = Number(headers.get("retry-after-ms") ?? Number.NaN);
  if (Number.isFinite(exact) && exact >= 0) return exact;
  const seconds = Number(headers.get("retry-after") ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
}

/** fetch hides the reason in `cause`, and Node hides it once more in an AggregateError when it tried two addresses. */
function reasonOf(cause: unknown): string {
  let innermost = cause;
  for (let depth = 0; depth < 4; depth++) {
    const inner: unknown =
      innermost instanceof AggregateError
        ? innermost.errors[0]
        : innermost instanceof Error
          ? innermost.cause
          : undefined;
    if (inner === undefined) break;
    innermost = inner;
  }
  return innermost instanceof Error ? innermost.message : String(innermost);
}

function textField(record: Record<string, unknown> | undefined, name: string): string | undefined {
  const value = record?.[name];
  return typeof value === "string" ? value : undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
