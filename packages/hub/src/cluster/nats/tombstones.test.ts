import { expect, test } from "vitest";
import { Tombstones } from "./tombstones.ts";

const hourMs = 3_600_000;
const tombstone = { kind: "rooms", key: "a", revision: 7 } as const;

test("a hub forgets its own deletion after an hour, once", () => {
  const tombstones = new Tombstones(() => 0.5);
  tombstones.deleting("rooms", "a");
  tombstones.seen(tombstone, false, 1_000);
  expect(tombstones.takeDue(hourMs + 999)).toEqual([]);
  expect(tombstones.takeDue(hourMs + 1_000)).toMatchObject([tombstone]);
  expect(tombstones.takeDue(hourMs * 9)).toEqual([]);
});

test("a hub leaves the deletion of another to that hub", () => {
  const tombstones = new Tombstones(() => 0.5);
  tombstones.seen(tombstone, false, 0);
  expect(tombstones.takeDue(hourMs * 9)).toEqual([]);
});

test("a hub forgets what it finds when it starts, at a time of its own", () => {
  const tombstones = new Tombstones(() => 0.5);
  tombstones.seen(tombstone, true, 0);
  expect(tombstones.takeDue(hourMs * 1.4)).toEqual([]);
  expect(tombstones.takeDue(hourMs * 1.5)).toMatchObject([tombstone]);
});
