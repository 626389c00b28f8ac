import { expect, test } from "vitest";
import { MalformedPayload } from "./json-payload.ts";
import { decodeRequest, decodeResponse } from "./message-head.ts";

function headed(head: unknown): Buffer {
  const text = Buffer.from(typeof head === "string" ? head : JSON.stringify(head));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  return Buffer.concat([length, text]);
}

const response = { status: 200, headers: {}, end: true };
const request = {
  method: "POST",
  path: "/v1/chat/completions",
  headers: {},
  protocol: "chat_completions",
  stream: false,
  end: true,
};

test.each([
  ["no JSON", "{"],
  ["an array", []],
  ["null", null],
  ["a status that is a text", { ...response, status: "200" }],
  ["a status with a fraction", { ...response, status: 200.5 }],
  ["an interim status", { ...response, status: 101 }],
  ["a status of four digits", { ...response, status: 1000 }],
  ["headers in a list", { ...response, headers: [] }],
  ["a header that is a number", { ...response, headers: { a: 1 } }],
  ["a header that is a list", { ...response, headers: { a: ["b"] } }],
  ["a header named __proto__", '{"status":200,"headers":{"__proto__":"x"},"end":true}'],
  ["a header name with a space", { ...response, headers: { "a b": "c" } }],
  ["a header value with a line break", { ...response, headers: { a: "b\r\nc: d" } }],
  [
    "201 headers",
    {
      ...response,
      headers: Object.fromEntries(Array.from({ length: 201 }, (_, i) => [`h${i}`, ""])),
    },
  ],
  ["no end", { status: 200, headers: {} }],
  ["a refusal that is a number", { ...response, refusal: 1 }],
])("a response head is malformed with %s", (_, head) => {
  expect(() => decodeResponse(headed(head), 16_384)).toThrow(MalformedPayload);
});

test.each([
  ["a method in small letters", { ...request, method: "post" }],
  ["a method with a space", { ...request, method: "GET /" }],
  ["a path without a slash", { ...request, path: "v1" }],
  ["an absolute path form", { ...request, path: "http://evil.test/" }],
  ["a path with a space", { ...request, path: "/a b" }],
  ["a path with a line break", { ...request, path: "/a\n" }],
  ["no protocol", { ...request, protocol: undefined }],
  ["a stream that is a text", { ...request, stream: "true" }],
  ["a client that is a text", { ...request, client: "alice" }],
  ["a client that is a list", { ...request, client: [] }],
  ["a client without an id", { ...request, client: { kind: "name" } }],
  ["a user that is a number", { ...request, client: { kind: "name", id: "alice", user: 1 } }],
  ["an address that is a number", { ...request, address: 1 }],
  ["a length below 0", { ...request, bodyBytes: -1 }],
  ["a length that is a text", { ...request, bodyBytes: "1" }],
])("a request head is malformed with %s", (_, head) => {
  expect(() => decodeRequest(headed(request), 16_384)).not.toThrow();
  expect(() => decodeRequest(headed(head), 16_384)).toThrow(MalformedPayload);
});

test("a head over the limit, or beyond its frame, is malformed", () => {
  const payload = headed(response);
  expect(() => decodeResponse(payload, payload.length - 4)).not.toThrow();
  expect(() => decodeResponse(payload, payload.length - 5)).toThrow(MalformedPayload);
  expect(() => decodeResponse(payload.subarray(0, -1), 16_384)).toThrow(MalformedPayload);
});

test("a request keeps its query and headers", () => {
  const head = { ...request, path: "/v1/models?limit=2", headers: { "X-A": "\tü" } };
  expect(decodeRequest(headed(head), 16_384).head).toMatchObject({
    path: "/v1/models?limit=2",
    headers: { "X-A": "\tü" },
  });
});
