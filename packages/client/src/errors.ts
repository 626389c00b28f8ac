import {
  certificateProblem,
  type ErrorCode,
  isObject,
  parseObject,
  type Refusal,
} from "@roomhub/protocol";

/**
 * A code of the hub, `invalid_response` when the response is not from a hub, or a provider's own code. The intersection
 * keeps known codes in editor completion.
 */
export type RoomhubErrorCode = ErrorCode | "invalid_response" | (string & {});

/** Errors are identified by these and not by class, because a program may bundle two copies of this package. */
const refusalMarker = Symbol.for("roomhub.error.refusal");
const unreachableMarker = Symbol.for("roomhub.error.unreachable");

/** Properties of a {@link RoomhubError} besides its message. */
export interface RoomhubErrorDetails {
  status: number;
  code: RoomhubErrorCode;
  param: string;
  hint: string | undefined;
  requestId: string | undefined;
  retryAfterMs: number | undefined;
  participants: readonly Refusal[] | undefined;
  isFinal?: boolean;
}

/** An error response of the hub. Check with {@link isRoomhubError}. Contract §6. */
export class RoomhubError extends Error {
  override readonly name = "RoomhubError";
  readonly [refusalMarker] = true;
  /** HTTP status */
  readonly status: number;
  /** Stable; compare this in programs. */
  readonly code: RoomhubErrorCode;
  /** The field that caused the error, or `""`. */
  readonly param: string;
  /** The next step, as a command where there is one. */
  readonly hint: string | undefined;
  readonly requestId: string | undefined;
  /** How long to wait before a retry, ms. */
  readonly retryAfterMs: number | undefined;
  /** The hub says that the same request fails again (`x-should-retry: false`). */
  readonly isFinal: boolean;
  /** On refused requests: the room's participants, and why each could not serve it. */
  readonly participants: readonly Refusal[] | undefined;

  constructor(message: string, details: RoomhubErrorDetails) {
    super(message);
    this.status = details.status;
    this.code = details.code;
    this.param = details.param;
    this.hint = details.hint;
    this.requestId = details.requestId;
    this.retryAfterMs = details.retryAfterMs;
    this.isFinal = details.isFinal ?? false;
    this.participants = details.participants;
  }
}

/** There was no response at the hub's URL. The message contains the URL and the reason. */
export class HubUnreachableError extends Error {
  override readonly name = "HubUnreachableError";
  readonly [unreachableMarker] = true;
  readonly hubUrl: string;
  /** The next step. */
  readonly hint: string;
  /** Whether a server is there, and only TLS failed. */
  readonly isTlsProblem: boolean;

  constructor(hubUrl: string, cause: unknown) {
    const innermost = innermostOf(cause);
    const tls = tlsProblem(hubUrl, innermost);
    super(`Hub at ${hubUrl} is unreachable: ${tls?.reason ?? reasonOf(innermost)}`, { cause });
    this.hubUrl = hubUrl;
    this.hint = tls?.hint ?? "check that the hub is running, and that this is its address and port";
    this.isTlsProblem = tls !== undefined;
  }
}

/**
 * Whether a thrown value is a {@link RoomhubError}.
 *
 * @param code - also require this code: `isRoomhubError(error, "room_not_found")`
 */
export function isRoomhubError(error: unknown, code?: RoomhubErrorCode): error is RoomhubError {
  if (!(error instanceof Error && refusalMarker in error)) return false;
  return code === undefined || (error as RoomhubError).code === code;
}

/** Whether a thrown value is a {@link HubUnreachableError}. */
export function isHubUnreachableError(error: unknown): error is HubUnreachableError {
  return error instanceof Error && unreachableMarker in error;
}

/**
 * The error for a response that is not a success.
 *
 * @param body - the response text in any shape: it may come from a proxy
 */
export function errorFromResponse(response: Response, body: string): RoomhubError {
  const error = errorField(body);
  const message = textField(error, "message");
  return new RoomhubError(
    message ?? `${response.url} responded ${response.status} ${response.statusText}`.trim(),
    {
      status: response.status,
      code: textField(error, "code") ?? (message === undefined ? "invalid_response" : ""),
      param: textField(error, "param") ?? "",
      hint:
        textField(error, "hint") ??
        (message === undefined ? wrongServerHint(response, body) : undefined),
      requestId: response.headers.get("x-request-id") ?? undefined,
      retryAfterMs: retryAfterMs(response.headers),
      isFinal: response.headers.get("x-should-retry") === "false",
      participants: refusals(error?.["participants"]),
    },
  );
}

/** https://nginx.org/en/docs/http/ngx_http_ssl_module.html#errors; Caddy and Go have similar texts. */
function wrongServerHint(response: Response, body: string): string {
  const isTlsPort = response.status === 400 && /HTTPS (?:port|server)/i.test(body);
  return isTlsPort
    ? `use ${response.url.replace(/^http:/, "https:")}`
    : "check the hub URL: this does not look like a roomhub hub";
}

/** The error for a success whose body is not from a hub. */
export function notAHub(url: string, response?: Response): RoomhubError {
  return new RoomhubError(`${url} sent a response that is not from a roomhub hub`, {
    status: response?.status ?? 200,
    code: "invalid_response",
    param: "",
    hint: "check the hub URL: this does not look like a roomhub hub",
    requestId: response?.headers.get("x-request-id") ?? undefined,
    retryAfterMs: undefined,
    participants: undefined,
  });
}

function errorField(body: string): Record<string, unknown> | undefined {
  const error = parseObject(body)?.["error"];
  return isObject(error) ? error : undefined;
}

function refusals(value: unknown): readonly Refusal[] | undefined {
  if (!Array.isArray(value)) return undefined;
  return value.filter(isObject).map((entry) => ({
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

/** `fetch` puts the reason into `cause`; Node.js wraps it in an AggregateError when it tries two addresses. */
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

function tlsProblem(hubUrl: string, error: unknown): { reason: string; hint: string } | undefined {
  if (isPlainHttpError(error)) {
    return {
      reason: "the server uses plain HTTP, not TLS",
      hint: `use ${hubUrl.replace(/^https:/, "http:")}`,
    };
  }
  const certificate = certificateProblem(error);
  return certificate && { reason: `it ${certificate.problem}`, hint: certificate.hint };
}

function reasonOf(error: unknown): string {
  // A browser gives no reason: it says "Failed to fetch" or "Load failed" whatever happened.
  if (error instanceof TypeError && !("code" in error)) return "no response";
  return error instanceof Error ? error.message : String(error);
}

/** What OpenSSL reports for a plain-text response. */
function isPlainHttpError(error: unknown): boolean {
  const { code } = isObject(error) ? error : { code: undefined };
  return code === "ERR_SSL_WRONG_VERSION_NUMBER" || code === "ERR_SSL_PACKET_LENGTH_TOO_LONG";
}

function textField(record: Record<string, unknown> | undefined, name: string): string | undefined {
  const value = record?.[name];
  return typeof value === "string" ? value : undefined;
}
