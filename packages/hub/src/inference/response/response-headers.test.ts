import { describe, expect, test } from "vitest";
import {
  relayedHeaders,
  contentTypeOf,
  servedByHeaders,
  waitingHeaders,
} from "./response-headers.ts";

const served = {
  requestId: "req_1",
  participantId: "ana",
  model: "llama3",
  attempts: 2,
  queueMs: 12.6,
  mayTruncate: false,
};

describe("response headers", () => {
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

  test("let listed headers of the provider through, never one that the hub sets or an unlisted one", () => {
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
    const passed = relayedHeaders(served, { status: 200, headers }, "json");
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
    ["application/json; charset=utf-8", "application/json; charset=utf-8"],
    ["text/event-stream", "text/event-stream"],
    ["audio/pcm;rate=24000;encoding=signed-int", "audio/pcm;rate=24000;encoding=signed-int"],
    ["application/json; evil=\u00ff", "default/type"],
    ["text/event-stream\r\nx: y", "default/type"],
    [undefined, "default/type"],
  ])("take a content type of %j as %s", (type, expected) => {
    const headers: Record<string, string> = type === undefined ? {} : { "content-type": type };
    expect(contentTypeOf({ status: 200, headers }, "default/type")).toBe(expected);
  });
});
