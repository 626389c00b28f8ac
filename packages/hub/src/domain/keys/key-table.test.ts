import { expect, test } from "vitest";
import { keyView, KeyTable, noKeys, noteUse, type RoomKey } from "./key-table.ts";

const dayMs = 24 * 3_600_000;

function aKey(fields: Partial<RoomKey> = {}): RoomKey {
  return {
    ...{ id: "1", name: "Ada", may: ["use"], digest: "d1", createdAt: 1_000 },
    models: undefined,
    requestsPerMinute: undefined,
    tokenDay: undefined,
    ...{ previous: undefined, expiresAt: undefined, revokedAt: undefined, lastSeenDay: undefined },
    ...fields,
  };
}

function verdict(key: RoomKey, digest: string, nowMs: number) {
  return new KeyTable([key]).judge(digest, nowMs).kind;
}

test("a value of another room, or of none, is unknown", () => {
  expect(noKeys.judge("d1", 0)).toEqual({ kind: "unknown" });
  expect(verdict(aKey(), "d2", 0)).toBe("unknown");
});

test("a valid value names its key", () => {
  const key = aKey();
  expect(new KeyTable([key]).judge("d1", 5)).toEqual({ kind: "valid", key });
});

test("a key ends at the moment of its expiry, says so for 30 days, and then is unknown", () => {
  const key = aKey({ expiresAt: 5_000 });
  expect(verdict(key, "d1", 4_999)).toBe("valid");
  expect(verdict(key, "d1", 5_000)).toBe("expired");
  expect(verdict(key, "d1", 5_000 + 30 * dayMs - 1)).toBe("expired");
  expect(verdict(key, "d1", 5_000 + 30 * dayMs)).toBe("unknown");
});

test("a revoked key is revoked, also after the time at which it would have expired", () => {
  const key = aKey({ revokedAt: 2_000, expiresAt: 5_000 });
  expect(verdict(key, "d1", 2_000)).toBe("revoked");
  expect(verdict(key, "d1", 6_000)).toBe("revoked");
  expect(verdict(key, "d1", 2_000 + 30 * dayMs)).toBe("unknown");
});

test("the value before a rotation is valid until its end, the new one from then on and before", () => {
  const key = aKey({ digest: "d2", previous: { digest: "d1", endsAt: 3_000 } });
  expect([verdict(key, "d1", 2_999), verdict(key, "d2", 2_999)]).toEqual(["valid", "valid"]);
  expect([verdict(key, "d1", 3_000), verdict(key, "d2", 3_000)]).toEqual(["revoked", "valid"]);
});

test("a name is found in any letter case, until 30 days after the end of its key", () => {
  const keys = new KeyTable([aKey({ revokedAt: 1_000 })]);
  expect(keys.remembered(30 * dayMs).find("aDA")?.id).toBe("1");
  expect(keys.remembered(1_000 + 30 * dayMs).find("aDA")).toBeUndefined();
});

test("a change makes another table, with the key in its place", () => {
  const keys = new KeyTable([aKey(), aKey({ id: "2", name: "Bob", digest: "d2" })]);
  const changed = keys.with(aKey({ revokedAt: 7 }));
  expect(changed.list.map(({ id, revokedAt }) => [id, revokedAt])).toEqual([
    ["1", 7],
    ["2", undefined],
  ]);
  expect(keys.list[0]?.revokedAt).toBeUndefined();
  expect([keys.hasLive(10), changed.hasLive(10), noKeys.hasLive(10)]).toEqual([true, true, false]);
});

test("a key is listed without its digests, and with the day of its last use", () => {
  const key = aKey({ previous: { digest: "d0", endsAt: 1 } });
  noteUse(key, new Date(2026, 0, 9, 23, 59).getTime());
  const view = { id: "1", name: "Ada", may: ["use"], createdAt: 1_000, lastSeenDay: "2026-01-09" };
  expect(keyView(key, 0)).toEqual(view);
  expect(
    keyView({ ...key, models: ["m"], requestsPerMinute: 5, expiresAt: 3, revokedAt: 2 }, 0),
  ).toEqual({
    ...{ ...view, models: ["m"], requestsPerMinute: 5, expiresAt: 3, revokedAt: 2 },
  });
});
