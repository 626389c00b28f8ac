import type { RequestHead } from "@roomhub/tunnel";
import { anything, assert, constantFrom, property } from "fast-check";
import { describe, expect, test } from "vitest";
import type { ForwardFacts } from "../../inference/upstream.ts";
import { aRequest, aTarget, someFacts } from "./forward.fixture.ts";
import { ForwardHeads, readForwardHead } from "./forward-head.ts";
import { type Preamble, readPreamble, writePreamble } from "./preamble.ts";

const headOf = (some: Partial<ForwardFacts> = {}) =>
  new ForwardHeads().headOf(aRequest, { ...someFacts, ...some }, aTarget);

function onWire(head: RequestHead): RequestHead {
  return JSON.parse(JSON.stringify(head)) as RequestHead;
}

/** A preamble with other fields than those that are sent. */
function preambleWith(fields: object): Buffer {
  const sent = writePreamble(aRequest, someFacts);
  const text = JSON.stringify({ ...JSON.parse(sent?.toString("utf8", 2) ?? ""), ...fields });
  const length = Buffer.alloc(2);
  length.writeUInt16BE(text.length);
  return Buffer.concat([length, Buffer.from(text)]);
}

test("a forwarded request is the same at the other hub, in two parts", () => {
  const { body: _body, sender, ...common } = aRequest;
  const { requestId, remainingMs, layout, ...more } = someFacts;
  expect(readForwardHead(onWire(headOf()))).toEqual({ ...common, ...more, target: aTarget });
  const sent = Buffer.concat([
    writePreamble(aRequest, someFacts) ?? Buffer.alloc(0),
    Buffer.from("{}"),
  ]);
  const preamble: Preamble = { requestId, remainingMs, layout, sender };
  expect(readPreamble(sent)).toEqual({ preamble, rest: Buffer.from("{}") });
  const bodiless = writePreamble(aRequest, { ...someFacts, layout: undefined });
  expect(readPreamble(bodiless ?? Buffer.alloc(0))?.preamble.layout).toBeUndefined();
});

test("requests for one participant have one head, and another one for another participant", () => {
  const heads = new ForwardHeads();
  const first = heads.headOf(aRequest, someFacts, aTarget);
  const later = { ...someFacts, requestId: "req_2", remainingMs: 900, hops: ["0000000e"] };
  expect(heads.headOf(aRequest, later, { ...aTarget }).forward).toBe(first.forward);
  for (const other of [{ revision: 8 }, { participantKey: "k2" }, { bootId: "0000000b" }]) {
    const { forward } = heads.headOf(aRequest, someFacts, { ...aTarget, ...other });
    expect(forward).toMatchObject(other);
  }
  expect(heads.headOf(aRequest, { ...someFacts, hops: ["a"] }, aTarget).forward?.["hops"]).toEqual([
    "a",
  ]);
});

test.each<[string, object]>([
  ["no place", { roomCode: undefined }],
  ["no capability", { capability: undefined }],
  ["hops that are no list", { hops: "0000000e" }],
  ["a revision below zero", { revision: -1 }],
])("a head with %s is not served", (_what, fields) => {
  const head = onWire(headOf());
  expect(readForwardHead({ ...head, forward: { ...head.forward, ...fields } })).toBeUndefined();
});

const members = (...all: unknown[]) => ({ layout: { bodyStart: 1, members: all } });

describe("a preamble", () => {
  test.each<[string, object]>([
    ["time below zero", { remainingMs: -1 }],
    ["no client", { client: undefined }],
    ["members out of order", members(["model", 20, 22], ["stop", 9, 12])],
    ["members that overlap", members(["model", 9, 20], ["stop", 12, 22])],
    ["a member that ends before it begins", members(["model", 12, 9])],
    ["a member before the body", members(["model", 0, 1])],
  ])("with %s is not served", (_what, fields) => {
    expect(readPreamble(preambleWith({}))).toBeDefined();
    expect(readPreamble(preambleWith(fields))).toBeUndefined();
  });

  test("that is not whole, or not JSON, is not served", () => {
    const whole = preambleWith({});
    for (let length = 0; length < whole.length; length++)
      expect(readPreamble(whole.subarray(0, length))).toBeUndefined();
    whole[2] = 0x21;
    expect(readPreamble(whole)).toBeUndefined();
  });

  test("is not written when it does not fit into the frame of the head", () => {
    const all = Array.from({ length: 2_000 }, (_, n) => ({ key: "model", start: n, end: n }));
    const layout = { bodyStart: 1, members: all };
    expect(writePreamble(aRequest, { ...someFacts, layout })).toBeUndefined();
  });
});

test("neither head nor preamble makes a hub throw", () => {
  const head = onWire(headOf());
  const name = constantFrom(
    ...Object.keys(head.forward ?? {}),
    ...["requestId", "remainingMs", "client", "address", "layout"],
  );
  assert(
    property(name, anything(), (field, value) => {
      readForwardHead({ ...head, forward: { ...head.forward, [field]: value } });
      readForwardHead({ ...head, protocol: field });
      readPreamble(preambleWith({ [field]: value }));
    }),
    { numRuns: 500 },
  );
});
