import { expect, test } from "vitest";
import { ResponseReader } from "./response-reader.ts";

const responses = [
  "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
  "HTTP/1.1 201 Created\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n",
  "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n",
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nserver-timing: a\r\n\r\n",
];
const expected = ["200: 5", "201: 19", "404: 0", "200: 1"];

function read(parts: readonly Buffer[]): string[] {
  const seen: string[] = [];
  let bytes = 0;
  const reader = new ResponseReader({
    onBody(more) {
      bytes += more;
    },
    onEnd(status) {
      seen.push(`${status}: ${bytes}`);
      bytes = 0;
    },
  });
  for (const part of parts) reader.feed(part);
  return seen;
}

test("responses are separated wherever their bytes are cut", () => {
  const all = Buffer.from(responses.join(""));
  for (let cut = 1; cut < all.length; cut++) {
    expect(read([all.subarray(0, cut), all.subarray(cut)])).toEqual(expected);
  }
  expect(read([...all].map((byte) => Buffer.of(byte)))).toEqual(expected);
});

test("a response without a length is refused", () => {
  expect(() => read([Buffer.from("HTTP/1.1 200 OK\r\n\r\n")])).toThrow("unknown length");
});
