import { describe, expect, test } from "vitest";
import { HubError } from "../../errors.ts";
import { answerHeaders, contentTypeOf, servedByHeaders, waitingHeaders } from "./answer.ts";
import { judgeHead } from "./answer-gate.ts";
import { readProviderError } from "./refusal.ts";

const served = {
  requestId: "req_1",
  participantId: "ana",
  model: "llama3",
  attempts: 2,
  queueMs: 12.6,
};

function judged(status: number, type: string | undefined, isStream: boolean): string {
  const headers: Record<string, string> = type === undefined ? {} : { "content-type": type };
  try {
    return judgeHead({ status, headers }, "ana", isStream);
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

describe("a provider's error body", () => {
  const none = { message: undefined, code: undefined, shape: "none" };
  test.each([
    [
      '{"error":{"message":"m","code":"c","type":"t"}}',
      { message: "m", code: "c", shape: "openai" },
    ],
    ['{"error":{"message":"m","code":""}}', { message: "m", code: undefined, shape: "openai" }],
    [
      '{"type":"error","error":{"type":"t","message":"m"}}',
      { message: "m", code: undefined, shape: "both" },
    ],
    ['{"error":{"message":1,"code":"c"}}', { message: undefined, code: "c", shape: "none" }],
    ['{"error":"m"}', { message: "m", code: undefined, shape: "none" }],
    ['{"message":"m"}', { message: "m", code: undefined, shape: "none" }],
    ["null", none],
    ["[]", none],
    ["<html>", none],
    ["", none],
  ])("%s is read as %o", (text, { shape, ...expected }) => {
    expect(readProviderError(text)).toEqual({
      ...expected,
      isOpenAiShape: shape !== "none",
      isAnthropicShape: shape === "both",
    });
  });
});

describe("answer headers", () => {
  test("say who served the request and forbid storing and guessing", () => {
    expect(servedByHeaders(served)).toEqual({
      "cache-control": "no-store",
      "x-accel-buffering": "no",
      "x-content-type-options": "nosniff",
      "x-request-id": "req_1",
      "x-roomhub-participant": "ana",
      "x-roomhub-model": "llama3",
      "x-roomhub-attempts": "2",
      "x-roomhub-queue-ms": "13",
    });
    expect(waitingHeaders("req_1")).not.toHaveProperty("x-roomhub-participant");
  });

  test.each([
    ["llama3:8b/q4~%", "llama3:8b/q4~%"],
    ["Gr\u00fc\u00dfe \u{1f600}", "Gr%C3%BC%C3%9Fe%20%F0%9F%98%80"],
    ["a\r\nx: y\u0000\u007f", "a%0D%0Ax:%20y%00%7F"],
    ["half \ud800", "half%20%EF%BF%BD"],
  ])("encode %j outside visible ASCII", (model, encoded) => {
    expect(servedByHeaders({ ...served, model })["x-roomhub-model"]).toBe(encoded);
  });

  test("let the provider's own through, and none that are ours or nobody's", () => {
    const headers = {
      "content-type": "application/json",
      "retry-after": "3",
      "x-ratelimit-remaining-tokens": "9",
      "openai-model": "gpt",
      "x-should-retry": "true",
      "set-cookie": "a=b",
      server: "nginx",
      "x-request-id": "theirs",
      "cache-control": "max-age=60",
      "access-control-allow-origin": "https://evil",
      "content-length": "3",
      "content-encoding": "br",
    };
    const passed = answerHeaders(served, { status: 200, headers }, "application/json");
    expect(passed).toEqual({
      ...servedByHeaders(served),
      "content-type": "application/json",
      "retry-after": "3",
      "x-ratelimit-remaining-tokens": "9",
      "openai-model": "gpt",
      "x-should-retry": "true",
    });
  });

  test.each([
    ["application/json; charset=utf-8", false, "application/json; charset=utf-8"],
    ["text/event-stream", true, "text/event-stream"],
    ["application/json; evil=\u00ff", false, "application/json"],
    ["text/event-stream\r\nx: y", true, "text/event-stream"],
    [undefined, false, "application/json"],
    [undefined, true, "text/event-stream"],
  ])("take a content type of %j, stream %s, as %s", (type, isStream, expected) => {
    const headers: Record<string, string> = type === undefined ? {} : { "content-type": type };
    expect(contentTypeOf({ status: 200, headers }, isStream)).toBe(expected);
  });
});
