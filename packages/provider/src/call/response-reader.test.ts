import { array, assert, constantFrom, integer, property, uint8Array } from "fast-check";
import { describe, expect, test } from "vitest";
import { InvalidResponseError, ResponseHeads } from "./response-head.ts";
import { ResponseReader } from "./response-reader.ts";

interface Read {
  log: string[];
  isWhole: boolean;
  isKept: boolean;
  /** bytes behind the response */
  left: number;
}

/** @param stops - the reader of the body stops after each piece, and goes on */
function read(chunks: readonly Buffer[], { stops = false, hasNoBody = false } = {}): Read {
  const log: string[] = [];
  let body = "";
  const reader = new ResponseReader(
    {
      onInformation: (status) => void log.push(String(status)),
      onHead: ({ status, headers }) => void log.push(`${status} ${JSON.stringify(headers)}`),
      onBody: (bytes) => ((body += bytes.toString("latin1")), !stops),
    },
    new ResponseHeads(),
    hasNoBody,
  );
  let left = 0;
  for (const chunk of chunks) {
    let at = 0;
    while (at < chunk.length && !reader.isWhole) at = reader.read(chunk, at);
    left += chunk.length - at;
  }
  const isWhole = reader.end();
  return { log: [...log, body], isWhole, isKept: reader.isKept, left };
}

const bytes = (text: string) => Buffer.from(text, "latin1");
const head = (...lines: string[]) => ["HTTP/1.1 200 OK", ...lines, "", ""].join("\r\n");

const responses = {
  fixed: `HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${head("Content-Length: 5", "x-a: \t b  ")}hello`,
  chunked: `${head("transfer-encoding: Chunked")}5;name="v"\r\nhello\r\n00a\r\n0123456789\r\n0\r\nx-trailer: 1\r\nmore: 2\r\n\r\n`,
  old: "HTTP/1.0 200\r\n\r\nuntil the end",
  empty: head("content-length: 0"),
  none: "HTTP/1.1 204 No Content\r\n\r\n",
};

describe.each(Object.entries(responses))("a response (%s)", (_what, text) => {
  const whole = read([bytes(text)]);

  test("is the same wherever it is cut, and however often its reader stops", () => {
    expect(whole).toMatchObject({ isWhole: true, left: 0 });
    for (let at = 1; at < text.length; at++) {
      const chunks = [bytes(text.slice(0, at)), bytes(text.slice(at))];
      expect(read(chunks)).toEqual(whole);
      expect(read(chunks, { stops: true })).toEqual(whole);
    }
    expect(read(Array.from(text, bytes))).toEqual(whole);
  });

  test("ends where it ends", () => {
    if (text === responses.old) return;
    expect(read([bytes(`${text}HTTP/1.1`)])).toEqual({ ...whole, left: 8 });
    for (let at = 1; at < text.length; at++) {
      expect(read([bytes(text.slice(0, at))]).isWhole, `cut at ${at}`).toBe(false);
    }
  });
});

test("a chunked body is what its server cut into chunks", () => {
  assert(
    property(
      array(uint8Array({ minLength: 1, maxLength: 40 })),
      integer({ min: 1 }),
      (parts, cut) => {
        const body = parts.map((part) => Buffer.from(part).toString("latin1"));
        const text = `${chunkedHead}${body.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join("")}0\r\n\r\n`;
        const size = 1 + (cut % 50);
        const chunks = Array.from({ length: Math.ceil(text.length / size) }, (_, index) =>
          bytes(text.slice(index * size, (index + 1) * size)),
        );
        expect(read(chunks)).toMatchObject({
          log: ['200 {"transfer-encoding":"chunked"}', body.join("")],
          isWhole: true,
        });
      },
    ),
  );
});

test.each([
  [head("content-length: 3"), true],
  [head("content-length: 3", "connection: close"), false],
  [head("content-length: 3", "connection: a, Close"), false],
  ["HTTP/1.0 200 OK\r\ncontent-length: 3\r\n\r\n", false],
  ["HTTP/1.0 200 OK\r\ncontent-length: 3\r\nconnection: keep-alive\r\n\r\n", true],
  [head(), false],
])("the connection of %j is kept: %s", (text, isKept) => {
  expect(read([bytes(`${text}abc`)]).isKept).toBe(isKept);
});

test("a response to HEAD has no body, whatever its head says", () => {
  const text = head("content-length: 5");
  expect(read([bytes(text)], { hasNoBody: true })).toMatchObject({ isWhole: true, left: 0 });
});

function expectRefused(text: string): void {
  expect(() => read([bytes(text)])).toThrow(InvalidResponseError);
  expect(() => read(Array.from(text, bytes))).toThrow(InvalidResponseError);
}

const chunkedHead = head("transfer-encoding: chunked");

describe("no response", () => {
  test.each([
    "SSH-2.0-x",
    "http/1.1 200 OK\r\n\r\n",
    "HTTP/2 200\r\n\r\n",
    "HTTP/1.1 20 OK\r\n\r\n",
    "HTTP/1.1  200 OK\r\n\r\n",
    "HTTP/1.1 200 O\u0000K\r\n\r\n",
    head("no colon"),
    head(": no name"),
    head("a b: c"),
    head("a : c"),
    head("a: b\u0001"),
    head("a: b\nc: d"),
    head("a: b\rc: d"),
    head("a: b", " folded: c"),
    head("content-length: -1"),
    head("content-length: 0x10"),
    head("content-length: "),
    head("content-length: 3", "content-length: 3"),
    head("content-length: 3, 3"),
    head("content-length: 3", "transfer-encoding: chunked"),
    head("transfer-encoding: gzip, chunked"),
    head("transfer-encoding: chunked", "transfer-encoding: chunked"),
    `${chunkedHead}x\r\n`,
    `${chunkedHead}\r\n`,
    `${chunkedHead}-1\r\n`,
    `${chunkedHead}3\nabc`,
    `${chunkedHead}3\r\nabcd\r\n`,
    `${chunkedHead}1111111111111111\r\n`,
  ])("is %j", expectRefused);

  test.each([
    ["a long extension of a chunk", `${chunkedHead}3;${"x".repeat(20_000)}`],
    ["trailers without end", `${chunkedHead}0\r\n${"x: y\r\n".repeat(6_000)}`],
    ["headers without end", `HTTP/1.1 200 OK\r\n${"x: y\r\n".repeat(4_000)}`],
  ])("has %s", (_what, text) => expectRefused(text));

  test("of random lines throws anything else, or reads on behind its end", () => {
    const piece = constantFrom(
      ...["HTTP/1.1 200 OK\r\n", "HTTP/1.1 100 C\r\n", "\r\n", "\r", "\n", "a: b\r\n", "0\r\n"],
      ...["content-length: 2\r\n", "transfer-encoding: chunked\r\n", "2\r\nab\r\n", "ab", ";", " "],
    );
    assert(
      property(array(piece, { maxLength: 12 }), (pieces) => {
        const text = pieces.join("");
        const outcome = (chunks: readonly Buffer[]) => {
          try {
            return read(chunks);
          } catch (error) {
            if (error instanceof InvalidResponseError) return "invalid";
            throw error;
          }
        };
        expect(outcome(Array.from(text, bytes))).toEqual(outcome(text === "" ? [] : [bytes(text)]));
      }),
      { numRuns: 2_000 },
    );
  });
});
