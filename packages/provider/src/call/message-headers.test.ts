import { expect, test } from "vitest";
import { ResponseHeaders, RequestHeaders } from "./message-headers.ts";

const body = [Buffer.from("ab"), Buffer.from("c")];

test("a request's headers are a flat list of the caller's and our own framing", () => {
  const toHost = new RequestHeaders("example.org");
  const common = ["Host", "example.org", "accept-encoding", "identity", "accept", "*/*"];
  const headers = { accept: "*/*", host: "evil", "content-length": "9", "Transfer-Encoding": "x" };
  expect(toHost.of({ headers, body })).toEqual([...common, "content-length", "3"]);
  expect(toHost.of({ headers, body: "streamed" })).toEqual([
    ...common,
    ...["transfer-encoding", "chunked"],
  ]);
  expect(toHost.of({ headers, body: undefined })).toEqual(common);
  expect(toHost.of({ headers: { accept: "a/b" }, body: undefined })).not.toEqual(common);
});

test("a response's headers are the same record as long as they are the same headers", () => {
  const replies = new ResponseHeaders();
  const first = replies.of(["X-A", "1", "x-a", "2", "Date", "now"]);
  expect(first).toEqual({ "x-a": "1", date: "now" });
  expect(replies.of(["X-A", "1", "x-a", "2", "Date", "now"])).toBe(first);
  expect(replies.of(["X-A", "1", "x-a", "2", "Date", "later"])).toEqual({
    "x-a": "1",
    date: "later",
  });
  expect(replies.of(["X-A", "1"])).toEqual({ "x-a": "1" });
  expect(first).toEqual({ "x-a": "1", date: "now" });
});
