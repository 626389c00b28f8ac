import type { RequestHead } from "@roomhub/tunnel";
import { anything, assert, constantFrom, property } from "fast-check";
import { expect, test } from "vitest";
import type { ForwardFacts, UpstreamRequest } from "../../inference/upstream.ts";
import { decodeForward, encodeForward } from "./forward-head.ts";

const from = { hubId: "e".repeat(16), bootId: "0000000e" };
const target = {
  ...{ roomCode: "ABC234", participantId: "ana", participantKey: "k1" },
  ...{ bootId: "0000000a", revision: 7 },
};
const facts: ForwardFacts = {
  ...{ requestId: "req_1", capability: "chatCompletions", hops: ["0000000e"] },
  ...{ remainingMs: 1_000, mayRequestUsage: true },
  layout: { bodyStart: 1, members: [{ key: "model", start: 9, end: 12 }] },
};
const request: UpstreamRequest = {
  ...{ method: "POST", path: "/chat/completions", headers: { accept: "*/*" } },
  ...{ protocol: "chatCompletions", isStream: true, body: [] },
  sender: { client: { kind: "name", id: "alice" }, addressId: "00000001" },
};

function onWire(head: RequestHead): RequestHead {
  return JSON.parse(JSON.stringify(head)) as RequestHead;
}

test("a forwarded request is the same at the other hub", () => {
  const { body: _body, ...rest } = request;
  expect(decodeForward(onWire(encodeForward(request, facts, target)), from)).toEqual({
    ...{ ...rest, ...facts, from, target },
  });
  const bodiless = encodeForward(request, { ...facts, layout: undefined }, target);
  expect(decodeForward(onWire(bodiless), from)?.layout).toBeUndefined();
});

const members = (...all: unknown[]) => ({ layout: { bodyStart: 1, members: all } });

test.each<[string, object]>([
  ["no place", { roomCode: undefined }],
  ["hops that are no list", { hops: "0000000e" }],
  ["time below zero", { remainingMs: -1 }],
  ["members out of order", members(["model", 20, 22], ["stop", 9, 12])],
  ["members that overlap", members(["model", 9, 20], ["stop", 12, 22])],
  ["a member that ends before it begins", members(["model", 12, 9])],
  ["a member before the body", members(["model", 0, 1])],
])("a request with %s is not served", (_what, fields) => {
  const head = onWire(encodeForward(request, facts, target));
  expect(decodeForward({ ...head, forward: { ...head.forward, ...fields } }, from)).toBeUndefined();
});

test("no head makes a hub throw", () => {
  const field = constantFrom(...Object.keys(encodeForward(request, facts, target).forward ?? {}));
  const head = onWire(encodeForward(request, facts, target));
  assert(
    property(field, anything(), (name, value) => {
      decodeForward({ ...head, forward: { ...head.forward, [name]: value } }, from);
      decodeForward({ ...head, protocol: name }, from);
    }),
    { numRuns: 500 },
  );
});
