import { describe, expect, test } from "vitest";
import { HubError } from "../../errors.ts";
import { judgeHead } from "./response-gate.ts";

function judged(
  status: number,
  type: string | undefined,
  isStream: boolean,
  content?: "audio",
): string {
  const headers: Record<string, string> = type === undefined ? {} : { "content-type": type };
  try {
    return judgeHead({ status, headers }, "ana", { isStream, content });
  } catch (error) {
    return error instanceof HubError ? error.code : "bug";
  }
}

describe("a provider's head", () => {
  const invalid = "provider_invalid_response";
  test.each([
    [200, "application/json", false, "json"],
    [201, "Application/JSON; charset=utf-8", false, "json"],
    [200, "application/problem+json", false, "json"],
    [200, undefined, false, "json"],
    [200, "text/event-stream", true, "stream"],
    [200, "text/event-stream;charset=UTF-8", true, "stream"],
    [200, undefined, true, "stream"],
    [200, "application/json", true, "json"],
    [200, "text/event-stream", false, invalid],
    [200, "text/html", false, invalid],
    [200, "text/html", true, invalid],
    [200, "application/jsonlines", true, invalid],
    [200, "", false, invalid],
    [204, "application/json", false, invalid],
    [205, undefined, true, invalid],
    [301, "application/json", false, invalid],
    [302, undefined, true, invalid],
    [304, undefined, false, invalid],
    [100, undefined, false, invalid],
    [101, undefined, true, invalid],
    [199, undefined, false, invalid],
    [600, undefined, false, invalid],
    [0, undefined, false, invalid],
    [-200, undefined, false, invalid],
    [200.5, undefined, false, invalid],
    [Number.NaN, undefined, false, invalid],
    [400, "text/html", true, "refusal"],
    [503, undefined, false, "refusal"],
    [599, "application/json", true, "refusal"],
  ])("of %s with type %s, stream %s, is %s", (status, type, isStream, kind) => {
    expect(judged(status, type, isStream)).toBe(kind);
  });
});
