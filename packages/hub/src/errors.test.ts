import { ERROR_STATUS, type ErrorCode } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { asHubError, HubError } from "./errors.ts";

test("an error has its code's status and stage unless its thrower knows better", () => {
  for (const code of Object.keys(ERROR_STATUS) as ErrorCode[]) {
    const error = new HubError(code, "what happened");
    expect([error.status, error.stage]).toEqual([
      ERROR_STATUS[code].status,
      ERROR_STATUS[code].stage,
    ]);
  }
  const kept = new HubError("provider_error", "down", { status: 503, stage: "tunnel" });
  expect([kept.status, kept.stage]).toEqual([503, "tunnel"]);
});

test("an error carries the next step, the field and the cause", () => {
  const cause = new Error("inner");
  const error = new HubError("invalid_id", "no", { hint: "choose another", param: "id", cause });
  expect(error).toMatchObject({ hint: "choose another", param: "id", cause, name: "HubError" });
  expect(new HubError("invalid_id", "no").param).toBe("");
});

test("a bug is reported without its detail, and keeps it as its cause", () => {
  const bug = new TypeError("secret detail");
  const error = asHubError(bug);
  expect(error).toMatchObject({ code: "internal_error", status: 500, cause: bug });
  expect(error.message).not.toContain("secret");
  expect(asHubError(error)).toBe(error);
  expect(asHubError("a string").code).toBe("internal_error");
});
