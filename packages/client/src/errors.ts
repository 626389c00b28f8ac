import type { ErrorCode, Refusal } from "@roomhub/protocol";

/**
 * A code of the hub's own, `invalid_response` when the answer is no hub's, or whatever a provider calls its error. The
 * intersection keeps the known ones in the editor's list.
 */
export type RoomhubErrorCode = ErrorCode | "invalid_response" | (string & {});

/** Errors are known by these and not by their class, which a program that bundles two copies of this package has twice. */
const refusalMarker = Symbol.for("roomhub.error.refusal");
const unreachableMarker = Symbol.for("roomhub.error.unreachable");

/** What {@link RoomhubError} carries beside its message. */
export interface RoomhubErrorDetails {
  status: number;
  code: RoomhubErrorCode;
  param: string;
  hint: string | undefined;
  requestId: string | undefined;
  retryAfterMs: number | undefined;
  participants: readonly Refusal[] | undefined;
}

/** The hub answered, and the answer is a refusal. Told apart by {@link isRoomhubError}. Contract §6. */
export class RoomhubError extends Error {
  override readonly name = "RoomhubError";
  readonly [refusalMarker] = true;
  /** of the HTTP answer */
  readonly status: number;
  /** For programs; does not change. */
  readonly code: RoomhubErrorCode;
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

/** Nobody answered at the hub's URL. The message names the URL and the reason. */
export class HubUnreachableError extends Error {
  override readonly name = "HubUnreachableError";
  readonly [unreachableMarker] = true;
  readonly hubUrl: string;
  /** The next step, as a command where there is one. */
  readonly hint: string;

  constructor(hubUrl: string, cause: unknown) {
    const innermost = innermostOf(cause);
    super(`No hub answers at ${hubUrl} (${reasonOf(innermost)})`, { cause });
    this.hubUrl = hubUrl;
    this.hint = nextStep(hubUrl, innermost);
  }
}

/**
 * Whether something that was thrown is a hub's refusal.
 *
 * @param code - only this one: `isRoomhubError(error, "room_not_found")`
 */
export function isRoomhubError(error: unknown, code?: RoomhubErrorCode): error is RoomhubError {
  if (!(error instanceof Error && refusalMarker in error)) return false;
  return code === undefined || (error as RoomhubError).code === code;
}

/** Whether something that was thrown says that nobody answers at the hub's URL. */
export function isHubUnreachableError(error: unknown): error is HubUnreachableError {
  return error instanceof Error && unreachableMarker in error;
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
        (message === undefined ? wrongServerHint(response, body) : undefined),
      requestId: response.headers.get("x-request-id") ?? undefined,
      retryAfterMs: retryAfterMs(response.headers),
      participants: refusals(error?.["participants"]),
    },
  );
}

/** https://nginx.org/en/docs/http/ngx_http_ssl_module.html#errors, and what Caddy and Go say of the same. */
function wrongServerHint(response: Response, body: string): string {
  const isTlsPort = response.status === 400 && /HTTPS (?:port|server)/i.test(body);
  return isTlsPort
    ? `write ${response.url.replace(/^http:/, "https:")}`
    : "check the hub URL: this does not look like a roomhub hub";
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
function innermostOf(cause: unknown): unknown {
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
  return innermost;
}

function reasonOf(error: unknown): string {
  if (isPlainHttpAnswer(error)) return "it speaks plain HTTP there, not TLS";
  return error instanceof Error ? error.message : String(error);
}

function nextStep(hubUrl: string, error: unknown): string {
  return isPlainHttpAnswer(error)
    ? `write ${hubUrl.replace(/^https:/, "http:")}`
    : "is it running? start one with: roomhub serve";
}

/** What OpenSSL makes of an answer in plain text. */
function isPlainHttpAnswer(error: unknown): boolean {
  const { code } = isRecord(error) ? error : { code: undefined };
  return code === "ERR_SSL_WRONG_VERSION_NUMBER" || code === "ERR_SSL_PACKET_LENGTH_TOO_LONG";
}

function textField(record: Record<string, unknown> | undefined, name: string): string | undefined {
  const value = record?.[name];
  return typeof value === "string" ? value : undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
