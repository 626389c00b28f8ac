import { expect, test } from "vitest";
import { advance, mayConfirm, type HomeEvent, type HomeRecord, NO_RECORD } from "./home-record.ts";
import type { StoredHome } from "./room-home.ts";

const self = { hubId: "a", bootId: "a1" };
const other: StoredHome = { home: { hubId: "b", bootId: "b1", epoch: 2 }, revision: 2 };

/** The record after these events, and the reads that they began. The number of an event is its place, from 1. */
function after(...events: HomeEvent[]) {
  let record: HomeRecord = NO_RECORD;
  const reads: number[] = [];
  for (const [at, event] of events.entries()) {
    const turn = advance(record, event, self, at + 1);
    record = turn.record;
    for (const effect of turn.effects) if (effect.kind === "read") reads.push(effect.number);
  }
  return { record, reads };
}

test("only the reply to the latest read of a room counts", () => {
  const seen = { kind: "newerEpoch", epoch: 3 } as const;
  const begun = [{ kind: "look" }, seen] as const;
  const late = after(...begun, { kind: "replied", read: 1, stored: other });
  expect(late.record).toMatchObject({ state: { stored: undefined }, read: { number: 2 } });
  const latest = after(...begun, { kind: "replied", read: 2, stored: other });
  expect(latest.record).toMatchObject({ state: { stored: other }, read: undefined });
});

test("a reply that is older than what the watch reported meanwhile is no reason to be the home again", () => {
  const named: StoredHome = { home: { ...self, epoch: 1 }, revision: 1 };
  const { record, reads } = after(
    { kind: "look" },
    { kind: "stored", stored: other, isRead: false },
    { kind: "replied", read: 1, stored: named },
  );
  expect(record.state).toMatchObject({ kind: "elsewhere", stored: other });
  expect(reads).toEqual([1, 3]);
});

test("a reply that was on its way while this process was suspended does not count", () => {
  const { record, reads } = after(
    { kind: "look" },
    { kind: "suspended" },
    {
      kind: "replied",
      read: 1,
      stored: other,
    },
  );
  expect(reads).toEqual([1, 2]);
  expect(record).toMatchObject({ state: { stored: undefined }, read: { number: 2 } });
});

test("a failed read is repeated when the directory responds, and not before", () => {
  const failed = [{ kind: "look" }, { kind: "unread", read: 1 }] as const;
  expect(after(...failed, { kind: "retry", isUp: false }).reads).toEqual([1]);
  expect(after(...failed, { kind: "retry", isUp: true }).reads).toEqual([1, 3]);
  expect(after(...failed, { kind: "directoryUp" }).reads).toEqual([1, 3]);
});

test("registrations that could not be read are read by the next retry, unless the room was lost", () => {
  const named: StoredHome = { home: { ...self, epoch: 1 }, revision: 1 };
  const loading = { kind: "stored", stored: named, isRead: false } as const;
  const offer = { from: { ...self, epoch: 0 }, number: 1 };
  const failed = [loading, { kind: "untaken", epoch: 1, offer }] as const;
  const { record } = after(...failed);
  const retry = { kind: "retry", isUp: true } as const;
  expect(advance(record, retry, self, 9).effects).toEqual([{ kind: "load", offer }]);
  const lost = after(...failed, { kind: "stored", stored: other, isRead: false });
  expect(lost.record.unloaded).toBe(undefined);
  expect(advance(lost.record, retry, self, 9).effects).toEqual([]);
});

test("a registration is confirmed by the home that has it, and by the one that got it with the snapshot", () => {
  const [home, next] = [
    { ...self, epoch: 4 },
    { ...other.home, epoch: 5 },
  ];
  const given: HomeRecord = { ...NO_RECORD, given: 5 };
  expect(mayConfirm(NO_RECORD, home, self, 4)).toBe(true);
  expect(mayConfirm(NO_RECORD, next, self, 4)).toBe(false);
  expect(mayConfirm(given, next, self, 4)).toBe(true);
});

test("a registration is not confirmed by a later home of the same hub, which may have read without it", () => {
  expect(mayConfirm(NO_RECORD, { ...self, epoch: 6 }, self, 4)).toBe(false);
  const givenLater: HomeRecord = { ...NO_RECORD, given: 7 };
  expect(mayConfirm(givenLater, { ...other.home, epoch: 7 }, self, 4)).toBe(false);
});
