import { expect, test } from "vitest";
import { forwardRequestHeaders, forwardResponseHeaders } from "./forwarded-headers.ts";

test("a provider gets the headers a request needs and none that identify the client", () => {
  const needed = {
    "content-type": "application/json",
    accept: "*/*",
    "openai-beta": "a",
    "anthropic-version": "b",
    "anthropic-beta": "c",
    "idempotency-key": "d",
    "x-client-request-id": "e",
  };
  const personal = {
    authorization: "Bearer mine",
    cookie: "a=b",
    host: "hub",
    connection: "close",
    "content-length": "3",
    "transfer-encoding": "chunked",
    "accept-encoding": "gzip",
    expect: "100-continue",
    origin: "x",
    "x-stainless-os": "y",
    "x-participant-token": "rhp_z",
    "x-roomhub-hop": "h",
  };
  expect(forwardRequestHeaders({ ...personal, ...needed })).toEqual(needed);
});

test("the first of repeated headers is forwarded; headers that cannot be written are dropped", () => {
  expect(forwardRequestHeaders({ accept: ["a", "b"], "openai-beta": "x\r\ny: z" })).toEqual({
    accept: "a",
  });
});

test("a client gets rate limits and retry advice, never cookies, locations or encodings", () => {
  const passing = {
    "content-type": "text/event-stream",
    "retry-after": "1",
    "retry-after-ms": "2",
    "x-ratelimit-limit-requests": "3",
    "openai-processing-ms": "4",
    "openai-version": "5",
    "openai-model": "6",
    "x-should-retry": "false",
  };
  const dropped = {
    "set-cookie": ["a=b"],
    location: "http://x",
    "content-encoding": "gzip",
    "content-length": "9",
    "access-control-allow-origin": "*",
    server: "s",
    "clear-site-data": "*",
    "x-ratelimit-bad": "a\u0000b",
    "x-ratelimit-unicode": "\u2028",
    "x-ratelimit-long": "1".repeat(2_000),
    "x-ratelimit-sp ace": "1",
  };
  expect(forwardResponseHeaders({ ...dropped, ...passing })).toEqual(passing);
});

test("rate-limit headers beyond the limit are dropped", () => {
  const flood = Object.fromEntries(
    Array.from({ length: 500 }, (_, index) => [`x-ratelimit-${index}`, "1"]),
  );
  expect(Object.keys(forwardResponseHeaders(flood))).toHaveLength(32);
});
