import { ERROR_STATUS, type ErrorCode } from "@roomhub/protocol";
import { expect, test } from "vitest";
import type { SendResult } from "./send-request.ts";
import { judge } from "./verdict.ts";

function response(status: number, code = "", headers: Record<string, string> = {}): SendResult {
  const value = { error: { code, message: `about ${code}` } };
  return { kind: "response", status, headers, value, body: JSON.stringify(value) };
}

/** As the hub sends it. */
function refusal(code: ErrorCode): SendResult {
  const { status, retry, retryAfterSeconds = 1 } = ERROR_STATUS[code];
  if (retry === "later")
    return response(status, code, { "retry-after": String(retryAfterSeconds) });
  return response(status, code, retry === "stop" ? { "x-should-retry": "false" } : {});
}

test.each<[ErrorCode, string]>([
  ["bad_request", "failed"],
  ["capability_missing", "failed"],
  ["not_allowed", "failed"],
  ["request_too_large", "failed"],
  ["response_too_large", "failed"],
  ["provider_timeout", "failed"],
  ["model_not_found", "failed"],
  ["batch_timeout", "refused"],
  ["batch_refused", "refused"],
  ["queue_full", "refused"],
  ["budget_exhausted", "refused"],
  ["key_limit_reached", "refused"],
  ["participant_offline", "refused"],
  ["provider_auth_failed", "refused"],
  ["hub_draining", "refused"],
  ["room_not_found", "refused"],
  ["tunnel_lost", "lost"],
  ["provider_disconnected", "lost"],
  ["provider_error", "lost"],
  ["internal_error", "lost"],
  ["stream_idle_timeout", "lost"],
  ["request_read_timeout", "lost"],
  ["client_blocked", "hopeless"],
])("%s: %s", (code, kind) => {
  expect(judge(refusal(code), false).kind).toBe(kind);
});

test("a success is the result, and so is a rejection by the model server", () => {
  expect(judge(response(200), false).kind).toBe("completed");
  expect(judge(response(422, "bad_field"), false).kind).toBe("failed");
  expect(judge(response(500, "", { "x-should-retry": "false" }), false).kind).toBe("failed");
});

test("a model that may appear is waited for", () => {
  expect(judge(refusal("model_not_found"), true).kind).toBe("refused");
});

test("a hub that is away is waited for, and a refusal's time is kept", () => {
  const away = judge({ kind: "unreachable", reason: "ECONNREFUSED", code: undefined }, false);
  expect(away).toEqual({
    kind: "refused",
    reason: "the hub is unreachable: ECONNREFUSED",
    retryAfterMs: undefined,
  });
  expect(judge(refusal("batch_timeout"), false)).toEqual({
    kind: "refused",
    reason: "about batch_timeout",
    retryAfterMs: 60_000,
  });
});

test("a response that broke off was lost, since its request may have run", () => {
  expect(judge({ kind: "broken", reason: "aborted" }, true)).toEqual({ kind: "lost" });
});

test("a closed room and a deleted one stop a batch, a 401 of a model server does not", () => {
  const closed = response(401, "invalid_api_key", { "www-authenticate": 'Bearer realm="roomhub"' });
  expect(judge(closed, false)).toEqual({
    kind: "hopeless",
    code: "invalid_api_key",
    reason: "about invalid_api_key",
  });
  expect(judge(response(401, "invalid_api_key"), false).kind).toBe("failed");
  const deleted = response(404, "room_not_found", { "x-should-retry": "false" });
  expect(judge(deleted, false).kind).toBe("hopeless");
});
