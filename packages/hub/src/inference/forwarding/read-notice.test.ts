import { anything, assert, constantFrom, dictionary, oneof, property, record } from "fast-check";
import { expect, test } from "vitest";
import { createExchanges } from "./exchange.fixture.ts";
import { readNotice } from "./read-notice.ts";

const at = { roomCode: "ABC234", id: "ana", key: "key of ana" };
const fit = [1, 9, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5];
const notices = [
  { kind: "wait", at, count: 2, address: "a", person: "" },
  { kind: "grant", at },
  { kind: "wait", at, count: 2, address: "a", person: "", isOwn: true },
  { kind: "grant", at, isOwn: true },
  {
    ...{ kind: "machine", machine: "0123456789abcdef", taken: 2, waiting: 1, asks: true },
    limits: { reported: 4, declared: 2, most: 4 },
  },
  { kind: "resumed", at, requestId: "req_1" },
];
const items = [
  { kind: "load", at, elsewhere: 1, limit: 2, limitFrom: "engine", lastSeenAt: 3 },
  { kind: "measured", at, hasFailed: true, restsMs: 5 },
  { kind: "warm", at, prompt: { session: "s", borders: [], bytes: 9 }, isBound: true },
  { kind: "response", at, responseId: "resp_1" },
];

test.each(notices)("a $kind is read as it was sent", (notice) => {
  expect(readNotice(notice)).toEqual([notice]);
});

test("a batch is read as it was sent", () => {
  expect(readNotice({ kind: "batch", items })).toEqual(items);
  const pace = { stream: fit, whole: fit, measuredAgoMs: 1, doubtMs: [1, 2] };
  const first = { shows: "speed", form: "stream", promptBytes: 1, coldBytes: 1, tookMs: 2 };
  const rich = [
    { ...items[0], pace, machine: { id: "01234567", active: 1, limit: 2 } },
    { ...items[0], machine: null },
    { kind: "measured", at, first },
  ];
  expect(readNotice({ kind: "batch", items: rich })).toEqual(rich);
});

test("what is not known is left out of a batch, and the rest is read", () => {
  const strange = [{ kind: "news", at }, 7, null, { kind: "load", at }, { kind: "grant" }];
  expect(readNotice({ kind: "batch", items: [...strange, items[3], ...strange] })).toEqual([
    items[3],
  ]);
  expect(readNotice({ kind: "news" })).toEqual([]);
});

test.each([
  ["a count below zero", { ...notices[0], count: -1 }],
  ["half a request", { ...notices[0], count: 0.5 }],
  ["a machine without limits", { ...notices[4], limits: undefined }],
  ["a place without a key", { kind: "grant", at: { ...at, key: 7 } }],
  ["a batch of a thousand and one", { kind: "batch", items: Array(1_001).fill(items[3]) }],
  [
    "a load without end",
    { kind: "batch", items: [{ ...items[0], elsewhere: Number.POSITIVE_INFINITY }] },
  ],
  ["a source of limits that is none", { kind: "batch", items: [{ ...items[0], limitFrom: "me" }] }],
  [
    "borders without number",
    { kind: "batch", items: [{ ...items[2], prompt: { borders: [{}] } }] },
  ],
])("%s is not read", (_what, notice) => {
  expect(readNotice(notice)).toEqual([]);
});

test("no notice makes a hub throw, or changes a participant that it is not about", () => {
  const kinds = constantFrom("wait", "grant", "load", "measured", "warm", "response", "batch");
  const place = oneof(constantFrom<unknown>(at), anything());
  const item = record(
    { kind: kinds, at: place, prompt: anything(), first: anything() },
    { requiredKeys: [] },
  );
  const notice = record({ kind: kinds, items: anything(), at: place });
  const net = createExchanges(["a", "b"], { ana: "b", bob: "b" });
  const { exchange, at: participantAt } = net.hub("a");
  const before = JSON.stringify(participantAt("bob"));
  assert(
    property(oneof(notice, dictionary(kinds, item)), item, (one, other) => {
      exchange.noticed(net.identity("b"), one);
      exchange.noticed(net.identity("b"), { kind: "batch", items: [other, one] });
    }),
    { numRuns: 500 },
  );
  net.pass(1_000);
  expect(JSON.stringify(participantAt("bob"))).toBe(before);
});
