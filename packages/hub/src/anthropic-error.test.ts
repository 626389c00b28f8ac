import { ERROR_STATUS } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { anthropicErrorBody, anthropicErrorType } from "./anthropic-error.ts";

test.each([
  [400, "invalid_request_error"],
  [401, "authentication_error"],
  [403, "permission_error"],
  [404, "not_found_error"],
  [409, "invalid_request_error"],
  [413, "request_too_large"],
  [422, "invalid_request_error"],
  [429, "rate_limit_error"],
  [499, "invalid_request_error"],
  [500, "api_error"],
  [502, "api_error"],
  [503, "overloaded_error"],
  [504, "api_error"],
  [529, "overloaded_error"],
])("an error of status %i is Anthropic's %s", (status, type) => {
  expect(anthropicErrorType(status)).toBe(type);
});

test("every 4xx of the hub has a client error type and every 5xx a server error type", () => {
  for (const { status } of Object.values(ERROR_STATUS)) {
    const isOurs = ["api_error", "overloaded_error"].includes(anthropicErrorType(status));
    expect([status, isOurs]).toEqual([status, status >= 500]);
  }
});

test("a body has Anthropic's fields, and the hub's additions inside error", () => {
  const participants = [{ id: "ada", model: "m", reason: "offline" }];
  const source = { message: "No participant.", status: 503, code: "participant_offline" };
  expect(
    anthropicErrorBody({ ...source, stage: "routing", hint: "Wait.", participants }, "req_1"),
  ).toEqual({
    type: "error",
    error: {
      type: "overloaded_error",
      message: "No participant.",
      code: "participant_offline",
      stage: "routing",
      hint: "Wait.",
      participants,
    },
    request_id: "req_1",
  });
});

test("a body omits unknown fields", () => {
  const error = { message: "No.", status: 400, code: "invalid_json", hint: undefined };
  expect(JSON.stringify(anthropicErrorBody(error, undefined))).toBe(
    '{"type":"error","error":{"type":"invalid_request_error","message":"No.","code":"invalid_json"}}',
  );
});
