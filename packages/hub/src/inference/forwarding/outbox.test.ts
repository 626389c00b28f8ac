import { expect, test } from "vitest";
import type { BatchNotice, NoticeItem } from "./notices.ts";
import { Outbox } from "./outbox.ts";

function createBench(hubIds: string[]) {
  const timers: (() => void)[] = [];
  const sent: { hubId: string; count: number; bytes: number; first: NoticeItem | undefined }[] = [];
  const outbox = new Outbox(
    {
      openHubIds: () => hubIds,
      notify(hubId, notice) {
        const { items } = notice as BatchNotice;
        const bytes = JSON.stringify(notice).length;
        sent.push({ hubId, count: items.length, bytes, first: items[0] });
      },
      ask: () => Promise.reject(new Error("not used")),
    },
    (_ms, callback) => void timers.push(callback),
  );
  return { outbox, sent, timers };
}

const at = { roomCode: "ABC234", id: "a".repeat(64), key: "k".repeat(36) };
const numbers = Array.from({ length: 6 }, () => 123_456_789.123_456_78);
const longest: NoticeItem = {
  ...{ kind: "load", at, elsewhere: 65_536, limit: 65_536, limitFrom: "declared" },
  lastSeenAt: 1_767_225_600_000,
  pace: { stream: numbers, whole: numbers, measuredAgoMs: 1.123_456, slotMs: 1.1, loadMs: 1.1 },
};
const borders = Array.from({ length: 24 }, (_, n) => ({ key: 2 ** 37 + n, bytes: 16_777_216 }));
const warm: NoticeItem = {
  ...{ kind: "warm", at, prompt: { session: undefined, borders, bytes: 1 }, isBound: false },
};

test("what comes in one moment goes to each hub in one notice", () => {
  const { outbox, sent, timers } = createBench(["a", "b"]);
  for (let n = 0; n < 3; n++) outbox.sendAll({ kind: "response", at, responseId: `${n}` });
  expect([sent.length, timers.length]).toEqual([0, 1]);
  timers.shift()?.();
  expect(sent.map(({ hubId, count }) => [hubId, count])).toEqual([
    ["a", 3],
    ["b", 3],
  ]);
});

test("a notice of the longest items fits on a link", () => {
  for (const item of [longest, warm]) {
    const { outbox, sent, timers } = createBench(["a"]);
    for (let n = 0; n < 40; n++) outbox.send("a", item);
    timers.shift()?.();
    expect([sent.length, sent[0]?.count]).toEqual([1, 40]);
    expect(sent[0]?.bytes).toBeLessThan(64 * 1024);
  }
});

test("ten thousand items leave in order, less than a megabyte in each moment", () => {
  const { outbox, sent, timers } = createBench(["a"]);
  for (let n = 0; n < 10_000; n++) outbox.send("a", { ...longest, elsewhere: n });
  let most = 0;
  for (let next = timers.shift(); next !== undefined; next = timers.shift()) {
    const before = sent.length;
    next();
    most = Math.max(
      most,
      sent.slice(before).reduce((sum, { bytes }) => sum + bytes, 0),
    );
  }
  expect(most).toBeLessThan(1024 * 1024);
  expect(sent.reduce((sum, { count }) => sum + count, 0)).toBe(10_000);
  const firsts = sent.map(({ first }) => (first as { elsewhere: number }).elsewhere);
  expect(firsts).toEqual(firsts.toSorted((one, other) => one - other));
});
