import { describe, expect, test } from "vitest";
import { converse } from "../support/clients/raw-conversation.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";

const crlf = "\r\n";
const head = (...lines: string[]) => [...lines, "", ""].join(crlf);
const post = (...headers: string[]) => head("POST /rooms HTTP/1.1", "host: hub", ...headers);
const chunked = post("transfer-encoding: chunked");
/** Would get a 404 if it were treated as a request of its own. */
const smuggled = head("GET /smuggled HTTP/1.1", "host: hub");
/** Sent after the first response: where the connection stays open, the hub responds to this one and nothing else. */
const next = head("GET /health HTTP/1.1", "host: hub", "connection: close");

interface Row {
  title: string;
  bytes: string | Buffer;
  /** every response on the connection, the one to {@link next} last where it stays open */
  statuses: number[];
}

/** The hub cannot know where this request ends: it responds and closes, or only closes. */
const cut: Row[] = [
  {
    title: "content-length and transfer-encoding",
    bytes: post("content-length: 4", "transfer-encoding: chunked") + `0${crlf}${crlf}${smuggled}`,
    statuses: [400],
  },
  {
    title: "transfer-encoding and content-length",
    bytes: post("transfer-encoding: chunked", "content-length: 4") + `0${crlf}${crlf}${smuggled}`,
    statuses: [400],
  },
  {
    title: "two content-lengths that differ",
    bytes: post("content-length: 2", "content-length: 40") + `{}${smuggled}`,
    statuses: [400],
  },
  {
    title: "two content-lengths that agree",
    bytes: post("content-length: 2", "content-length: 2") + `{}${smuggled}`,
    statuses: [400],
  },
  {
    title: "a list as content-length",
    bytes: `${post("content-length: 2, 2")}{}${smuggled}`,
    statuses: [400],
  },
  ...["+5", "-5", "0x5", "5 5", "5a", "18446744073709551621", ""].map((length) => ({
    title: `content-length ${JSON.stringify(length)}`,
    bytes: `${post(`content-length: ${length}`)}{"a":${smuggled}`,
    statuses: [400],
  })),
  ...[
    "transfer-encoding : chunked",
    " transfer-encoding: chunked",
    "transfer-encoding\t: chunked",
    "transfer-encoding: xchunked",
    "transfer-encoding: chunked, identity",
    "transfer-encoding: identity",
    "transfer-encoding: chunked\r\ntransfer-encoding: identity",
    "transfer-encoding:\u000bchunked",
  ].map((line) => ({
    title: JSON.stringify(line),
    bytes: `${post(line)}0${crlf}${crlf}${smuggled}`,
    statuses: [400],
  })),
  {
    title: "a folded header",
    bytes: head("GET /health HTTP/1.1", "host: hub", "x: a", " b") + smuggled,
    statuses: [400],
  },
  {
    title: "transfer-encoding in a folded header",
    bytes: `${post("x: a", " transfer-encoding: chunked")}0${crlf}${crlf}${smuggled}`,
    statuses: [400],
  },
  {
    title: "lines that end in LF",
    bytes: `GET /health HTTP/1.1\nhost: hub\n\n${smuggled}`,
    statuses: [400],
  },
  {
    title: "a header that ends in LF",
    bytes: `GET /health HTTP/1.1\r\nhost: hub\nx: 1\r\n\r\n${smuggled}`,
    statuses: [400],
  },
  {
    title: "lines that end in CR",
    bytes: `GET /health HTTP/1.1\rhost: hub\r\r${smuggled}`,
    statuses: [400],
  },
  {
    title: "a CR inside a value",
    bytes: `GET /health HTTP/1.1\r\nhost: hub\r\nx: a\rb\r\n\r\n${smuggled}`,
    statuses: [400],
  },
  ...[
    ["LF after a chunk size", `2\n{}\r\n0\r\n\r\n`],
    ["LF after a chunk", `2\r\n{}\n0\r\n\r\n`],
    ["LF after the last chunk", `2\r\n{}\r\n0\n\n`],
    ["a chunk longer than its size", `2\r\n{}}\r\n0\r\n\r\n`],
    ["a chunk size with a sign", `+2\r\n{}\r\n0\r\n\r\n`],
    ["a negative chunk size", `-2\r\n{}\r\n0\r\n\r\n`],
    ["a chunk size with a prefix", `0x2\r\n{}\r\n0\r\n\r\n`],
    ["a chunk size with a space before it", ` 2\r\n{}\r\n0\r\n\r\n`],
    ["an empty chunk size", `\r\n{}\r\n0\r\n\r\n`],
    ["a chunk size beyond 64 bits", `10000000000000002\r\n{}\r\n0\r\n\r\n`],
    ["a trailer without a colon", `2\r\n{}\r\n0\r\nnonsense\r\n\r\n`],
    ["a content-length as trailer", `2\r\n{}\r\n0\r\ncontent-length: 50\r\n\r\n`],
    ["a chunk extension with LF", `2;a\nb\r\n{}\r\n0\r\n\r\n`],
  ].map(([title = "", body = ""]) => ({
    title,
    bytes: `${chunked}${body}${smuggled}`,
    statuses: [400],
  })),
  {
    title: "chunk extensions of 20 KB",
    bytes: `${chunked}2;${"x".repeat(20_000)}\r\n{}\r\n0\r\n\r\n${smuggled}`,
    statuses: [400],
  },
  {
    title: "headers of 20 KB",
    bytes: head("GET /health HTTP/1.1", "host: hub", `x: ${"y".repeat(20_000)}`) + smuggled,
    statuses: [431],
  },
  ...["a b: 1", "a\u0000: 1", "a\u0001b: 1", "a(b): 1", ": 1", "é: 1"].map((line) => ({
    title: `the header line ${JSON.stringify(line)}`,
    bytes: Buffer.from(head("GET /health HTTP/1.1", "host: hub", line) + smuggled, "latin1"),
    statuses: [400],
  })),
  {
    title: "a null byte in a value",
    bytes: head("GET /health HTTP/1.1", "host: hub", "x: a\u0000b") + smuggled,
    statuses: [400],
  },
  {
    title: "a null byte in the path",
    bytes: head("GET /he\u0000alth HTTP/1.1", "host: hub") + smuggled,
    statuses: [400],
  },
  {
    title: "a space in the path",
    bytes: head("GET /he alth HTTP/1.1", "host: hub") + smuggled,
    statuses: [400],
  },
  {
    title: "a tab for a space",
    bytes: head("GET\t/health\tHTTP/1.1", "host: hub") + smuggled,
    statuses: [400],
  },
  {
    title: "the authority form",
    bytes: head("GET hub:5050 HTTP/1.1", "host: hub") + smuggled,
    statuses: [400],
  },
  {
    title: "CONNECT",
    bytes: head("CONNECT hub:5050 HTTP/1.1", "host: hub:5050") + smuggled,
    statuses: [],
  },
  {
    title: "HTTP/2 without an upgrade",
    bytes: `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${"\u0000".repeat(9)}`,
    statuses: [400],
  },
  { title: "HTTP/0.9", bytes: `GET /health\r\n${smuggled}`, statuses: [400] },
  {
    title: "HTTP/1.2",
    bytes: head("GET /health HTTP/1.2", "host: hub") + smuggled,
    statuses: [400],
  },
  { title: "HTTP/3", bytes: head("GET /health HTTP/3", "host: hub") + smuggled, statuses: [400] },
  {
    title: "a protocol that is not HTTP",
    bytes: head("GET /health RTSP/1.0", "host: hub") + smuggled,
    statuses: [400],
  },
  {
    title: "an unknown method",
    bytes: head("SMUGGLE /health HTTP/1.1", "host: hub") + smuggled,
    statuses: [400],
  },
  {
    title: "chunked HTTP/1.0",
    bytes: `${head("POST /rooms HTTP/1.0", "transfer-encoding: chunked")}2\r\n{}\r\n0\r\n\r\n`,
    statuses: [400],
  },
];

/** Refused or served, but its end is unambiguous: the connection stays open for the next request. */
const placed: Row[] = [
  {
    title: "two Host headers",
    bytes: head("GET /health HTTP/1.1", "host: hub", "host: other"),
    statuses: [400, 200],
  },
  {
    title: "an absolute target",
    bytes: head("GET http://other/health HTTP/1.1", "host: hub"),
    statuses: [400, 200],
  },
  { title: "TRACE", bytes: head("TRACE /health HTTP/1.1", "host: hub"), statuses: [405, 200] },
  {
    title: "TRACE of the whole hub",
    bytes: head("TRACE * HTTP/1.1", "host: hub"),
    statuses: [404, 200],
  },
  { title: "GET of *", bytes: head("GET * HTTP/1.1", "host: hub"), statuses: [404, 200] },
  { title: "OPTIONS of *", bytes: head("OPTIONS * HTTP/1.1", "host: hub"), statuses: [204, 200] },
  ...[201, 2_500].map((count) => ({
    title: `${count} headers`,
    bytes: head(
      "GET /health HTTP/1.1",
      "host: hub",
      ...Array.from({ length: count - 1 }, (_, index) => `h${index}: 1`),
    ),
    statuses: [431, 200],
  })),
  {
    title: "a URL over 8 KiB",
    bytes: head(`GET /health?${"q".repeat(8_200)} HTTP/1.1`, "host: hub"),
    statuses: [414, 200],
  },
  {
    title: "a null byte in the path, encoded",
    bytes: head("GET /rooms/%00 HTTP/1.1", "host: hub"),
    statuses: [404, 200],
  },
  {
    title: "half an encoding in the path",
    bytes: head("GET /rooms/%e0%a4 HTTP/1.1", "host: hub"),
    statuses: [400, 200],
  },
  {
    title: "dots in the path",
    bytes: head("GET /rooms/../rooms HTTP/1.1", "host: hub"),
    statuses: [404, 200],
  },
  {
    title: "names every object has",
    bytes: head(
      "GET /rooms/__proto__ HTTP/1.1",
      "host: hub",
      "__proto__: 1",
      "constructor: 2",
      "hasOwnProperty: 3",
    ),
    statuses: [404, 200],
  },
  {
    title: "an unknown Expect",
    bytes: `${post("expect: 200-ok", "content-length: 2")}{}`,
    statuses: [400, 200],
  },
  {
    title: "Expect: 100-continue",
    bytes: `${post("expect: 100-continue", "content-length: 2")}{}`,
    statuses: [100, 400, 200],
  },
  {
    title: "an upgrade to h2c",
    bytes: head(
      "GET /health HTTP/1.1",
      "host: hub",
      "connection: Upgrade, HTTP2-Settings",
      "upgrade: h2c",
      "http2-settings: AAMAAABkAARAAAAAAAIAAAAA",
    ),
    statuses: [200, 200],
  },
  {
    title: "an upgrade to h2c with a body",
    bytes: `${post("connection: Upgrade", "upgrade: h2c", "content-length: 12")}{"name":"a"}`,
    statuses: [201, 200],
  },
  {
    title: "an upgrade to WebSocket where there is none",
    bytes: head(
      "GET /health HTTP/1.1",
      "host: hub",
      "connection: Upgrade",
      "upgrade: websocket",
      "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
      "sec-websocket-version: 13",
    ),
    statuses: [200, 200],
  },
  {
    title: "a body with a GET",
    bytes: `${head("GET /health HTTP/1.1", "host: hub", `content-length: ${smuggled.length}`)}${smuggled}`,
    statuses: [200, 200],
  },
  {
    title: "a request inside a body that was refused",
    bytes: post("content-encoding: br", `content-length: ${smuggled.length}`) + smuggled,
    statuses: [415, 200],
  },
  {
    title: "a request inside a body that is no JSON",
    bytes: `${post(`content-length: ${smuggled.length}`)}${smuggled}`,
    statuses: [400, 200],
  },
  {
    title: "a request inside a chunk",
    bytes: `${chunked}${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`,
    statuses: [400, 200],
  },
  {
    title: "trailers",
    bytes: `${chunked}2\r\n{}\r\n0\r\nhost: other\r\nx: 1\r\n\r\n`,
    statuses: [400, 200],
  },
  {
    title: "a request right behind one that was refused",
    bytes:
      head("GET /health HTTP/1.1", "host: hub", "host: other") +
      head("GET /rooms HTTP/1.1", "host: hub"),
    statuses: [400, 200, 200],
  },
  {
    title: "empty lines before a request",
    bytes: `${crlf}${crlf}${head("GET /health HTTP/1.1", "host: hub")}`,
    statuses: [200, 200],
  },
];

async function expectAlive(hub: TestHub): Promise<void> {
  expect((await hub.client.health()).status).toBe("ok");
  expect(hub.log.filter((line) => line.includes(" bug "))).toEqual([]);
  expect(Object.keys(Object.prototype)).toEqual([]);
}

describe("no second request hides behind", () => {
  test.for([...cut, ...placed])("$title: $statuses", async ({ bytes, statuses }) => {
    await using hub = await startTestHub();
    const { answers, rest } = await converse(hub.port, bytes, next);
    expect({ statuses: answers.map(({ status }) => status), rest }).toEqual({ statuses, rest: "" });
    for (const { status, headers, body } of answers) {
      if (status < 400) continue;
      expect(headers["x-request-id"]).toMatch(/\S/);
      expect(JSON.parse(body)).toMatchObject({ error: { code: expect.stringMatching(/\S/) } });
    }
    await expectAlive(hub);
  });
});
