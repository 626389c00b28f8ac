import { array, assert, boolean, constantFrom, dictionary, property, record } from "fast-check";
import { describe, expect, test } from "vitest";
import { MalformedPayload } from "./json-payload.ts";
import {
  decodeResponse,
  encodeRequestHead,
  encodeResponseHead,
  type ResponseHead,
} from "./message-head.ts";
import { HeadReader, HeadWriter } from "./repeated-head.ts";

function payloadOf(head: Buffer, body: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(head.length);
  return Buffer.concat([length, head, Buffer.from(body)]);
}

const heads = array(
  record({
    head: record(
      {
        status: constantFrom(200, 404),
        headers: dictionary(constantFrom("a", "b", "c"), constantFrom("", "1", "ü")),
        refusal: constantFrom("budget", "person"),
      },
      { requiredKeys: ["status", "headers"] },
    ),
    end: boolean(),
    body: constantFrom("", "x", '{"status":200}'),
  }),
  { maxLength: 12 },
);

describe("consecutive heads", () => {
  test("are written and read independently of each other", () => {
    assert(
      property(heads, (heads) => {
        const writer = new HeadWriter(encodeResponseHead);
        const reader = new HeadReader(decodeResponse);
        for (const { head, end, body } of heads) {
          const bytes = writer.write(head, end);
          // Of headers with different names, the order says nothing.
          expect(JSON.parse(bytes.toString())).toEqual(JSON.parse(encodeResponseHead(head, end)));
          const read = reader.read(payloadOf(bytes, body), 16_384);
          expect(read.head).toEqual(head);
          expect(read.end).toBe(end);
          expect(read.body.toString()).toBe(body);
        }
      }),
    );
  });

  const head: ResponseHead = { status: 200, headers: { "content-type": "application/json" } };
  const bytes = Buffer.from(encodeResponseHead(head, true));

  test("share one object and the same bytes when identical", () => {
    const writer = new HeadWriter(encodeResponseHead);
    const reader = new HeadReader(decodeResponse);
    const first = reader.read(payloadOf(bytes, "one"), 16_384);
    expect(reader.read(payloadOf(bytes, "two"), 16_384).head).toBe(first.head);
    expect(writer.write({ ...head, headers: { ...head.headers } }, true)).toBe(
      writer.write(head, true),
    );
  });

  test("differ when one has a field that the other does not have", () => {
    const request = { method: "GET", path: "/", headers: {}, protocol: "", stream: false };
    const named = { ...request, client: { kind: "name", id: "alice" } };
    const writer = new HeadWriter(encodeRequestHead);
    for (const head of [request, named, request, { ...named, address: "9c1f02ab" }]) {
      expect(writer.write(head, true).toString()).toBe(encodeRequestHead(head, true));
    }
  });

  test("are frozen, because later readers get the same object", () => {
    const { head } = new HeadReader(decodeResponse).read(payloadOf(bytes, ""), 16_384);
    expect(() => (head.headers["x"] = "y")).toThrow(TypeError);
    expect(() => (head.status = 500)).toThrow(TypeError);
  });

  test("that are malformed are refused each time", () => {
    const reader = new HeadReader(decodeResponse);
    reader.read(payloadOf(bytes, ""), 16_384);
    const cut = payloadOf(bytes, "").subarray(0, -1);
    for (let time = 0; time < 2; time++) {
      expect(() => reader.read(cut, 16_384)).toThrow(MalformedPayload);
      expect(() => reader.read(payloadOf(Buffer.from("{}"), ""), 16_384)).toThrow(MalformedPayload);
    }
  });

  test("are kept only when they are small", () => {
    const long = { status: 200, headers: { a: "x".repeat(4_000) } };
    const writer = new HeadWriter(encodeResponseHead);
    expect(writer.write(long, true)).not.toBe(writer.write(long, true));
  });
});
