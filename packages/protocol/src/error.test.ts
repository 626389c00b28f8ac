import { expect, test } from "vitest";
import { ERROR_STATUS, ErrorBody, type ErrorCode, errorTypeOf, FAILURE_STAGES } from "./error.ts";

const rows = Object.entries(ERROR_STATUS) as [ErrorCode, (typeof ERROR_STATUS)[ErrorCode]][];

test.each(rows)("%s is a consistent error", (code, row) => {
  expect(code).toMatch(/^[a-z]+(?:_[a-z]+)*$/);
  expect(row.status).toBeGreaterThanOrEqual(400);
  expect(row.status).toBeLessThanOrEqual(599);
  expect(row.retryAfterSeconds !== undefined).toBe(row.retry === "later");
  if (row.stage !== undefined) expect(FAILURE_STAGES).toContain(row.stage);
});

test.each([
  [400, "invalid_request_error"],
  [401, "permission_error"],
  [403, "permission_error"],
  [404, "invalid_request_error"],
  [405, "invalid_request_error"],
  [409, "invalid_request_error"],
  [413, "invalid_request_error"],
  [422, "invalid_request_error"],
  [429, "rate_limit_error"],
  [431, "invalid_request_error"],
  [500, "server_error"],
  [502, "server_error"],
  [503, "server_error"],
  [504, "server_error"],
  [599, "server_error"],
] as const)("an error of status %i is a %s", (status, type) => {
  expect(errorTypeOf(status)).toBe(type);
});

test.each([
  ["invalid_json", 400, "none"],
  ["missing_required_parameter", 400, "none"],
  ["invalid_password", 401, "none"],
  ["key_limit_reached", 429, "later"],
  ["too_many_attempts", 429, "later"],
  ["participant_token_required", 403, "none"],
  ["participant_token_invalid", 403, "none"],
  ["participant_id_taken", 409, "none"],
  ["room_not_found", 404, "none"],
  ["method_not_allowed", 405, "none"],
  ["model_not_found", 404, "none"],
  ["participant_offline", 503, "later"],
  ["unsupported_protocol", 400, "none"],
  ["routing_loop", 400, "none"],
  ["tunnel_flapping", 429, "later"],
  ["session_elsewhere", 421, "none"],
  ["home_elsewhere", 421, "none"],
  ["queue_full", 429, "later"],
  ["queue_timeout", 503, "later"],
  ["tunnel_lost", 502, "none"],
  ["provider_unreachable", 502, "none"],
  ["provider_auth_failed", 502, "stop"],
  ["provider_error", 502, "none"],
  ["provider_invalid_response", 502, "none"],
  ["response_too_large", 502, "stop"],
  ["provider_timeout", 504, "stop"],
  ["stream_idle_timeout", 504, "none"],
  ["request_timeout", 504, "stop"],
  ["request_too_large", 413, "none"],
  ["headers_too_large", 431, "none"],
  ["uri_too_long", 414, "none"],
  ["request_read_timeout", 408, "none"],
  ["unsupported_content_encoding", 415, "none"],
  ["room_limit_reached", 503, "stop"],
  ["participant_limit_reached", 503, "stop"],
  ["too_many_subscribers", 503, "stop"],
  ["hub_draining", 503, "later"],
  ["hub_overloaded", 503, "later"],
  ["hub_shutting_down", 503, "later"],
  ["cluster_unavailable", 503, "later"],
  ["peer_unavailable", 503, "later"],
  ["internal_error", 500, "none"],
] as const)("%s has status %i, and for an SDK: %s", (code, status, retry) => {
  expect(ERROR_STATUS[code]).toMatchObject({ status, retry });
});

test("an SDK stops retrying 408, 409, 429 and 5xx only for these", () => {
  const isRetried = (status: number) => [408, 409, 429].includes(status) || status >= 500;
  const stopped = rows.flatMap(([code, row]) =>
    row.retry === "stop" && isRetried(row.status) ? [code] : [],
  );
  expect(stopped).toEqual([
    "provider_auth_failed",
    "response_too_large",
    "room_limit_reached",
    "participant_limit_reached",
    "too_many_subscribers",
    "provider_timeout",
    "request_timeout",
  ]);
});

test("refusals of a closed room tell SDKs not to retry", () => {
  const refusals = rows.filter(([, { status, retry }]) => status < 429 && retry === "stop");
  expect(refusals.map(([code, { status }]) => `${status} ${code}`)).toEqual([
    "401 invalid_api_key",
    "401 key_revoked",
    "401 key_expired",
    "403 not_allowed",
    "403 client_blocked",
  ]);
});

test("no inference error is 409, which SDKs retry", () => {
  for (const [, row] of rows) if (row.stage !== undefined) expect(row.status).not.toBe(409);
});

test("an error body has OpenAI's four fields as strings", () => {
  const error = { message: "m", type: "server_error", param: "", code: "" };
  expect(ErrorBody.safeParse({ error }).success).toBe(true);
  expect(ErrorBody.safeParse({ error: { ...error, param: null } }).success).toBe(false);
  expect(ErrorBody.safeParse({ error: { ...error, code: undefined } }).success).toBe(false);
});
