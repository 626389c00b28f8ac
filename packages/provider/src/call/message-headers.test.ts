import { expect, test } from "vitest";
import { RequestHeads } from "./message-headers.ts";

const body = [Buffer.from("ab"), Buffer.from("c")];
const request = { method: "POST", headers: { accept: "*/*" }, body };

test("a request's head has the caller's headers and our own framing", () => {
  const toHost = new RequestHeads("example.org");
  const headers = { accept: "*/*", host: "evil", "content-length": "9", "Transfer-Encoding": "x" };
  const first = "POST /v1/chat HTTP/1.1\r\n";
  const common = "Host: example.org\r\naccept-encoding: identity\r\naccept: */*\r\n";
  expect(toHost.of({ ...request, headers }, "/v1/chat", false)).toBe(
    `${first}${common}connection: keep-alive\r\ncontent-length: 3\r\n\r\n`,
  );
  expect(toHost.of({ ...request, headers, body: "streamed" }, "/v1/chat", true)).toBe(
    `${first}${common}connection: close\r\ntransfer-encoding: chunked\r\n\r\n`,
  );
  const upload = { ...request, headers, body: "streamed", bodyBytes: 7 } as const;
  expect(toHost.of(upload, "/v1/chat", false)).toBe(
    `${first}${common}connection: keep-alive\r\ncontent-length: 7\r\n\r\n`,
  );
  const others = { method: "GET", headers: { accept: "a/b" }, body: undefined };
  expect(toHost.of(others, "/", false)).toBe(
    "GET / HTTP/1.1\r\nHost: example.org\r\naccept-encoding: identity\r\naccept: a/b\r\nconnection: keep-alive\r\n\r\n",
  );
});

test.each([
  ["a path with a space", "/a b", {}],
  ["a path with a line end", "/a\r\nx", {}],
  ["a header's name with a space", "/", { "a b": "c" }],
  ["a value with a line end", "/", { a: "b\r\nc: d" }],
  ["a value beyond Latin-1", "/", { a: "\u20ac" }],
])("%s cannot be written, and is not repeated in the reason", (_what, path, headers) => {
  const toHost = new RequestHeads("example.org");
  expect(() => toHost.of({ ...request, headers }, path, false)).toThrow(/^it/);
  expect(() => toHost.of({ ...request, headers }, path, false)).not.toThrow(/\u20ac|c: d/);
});
