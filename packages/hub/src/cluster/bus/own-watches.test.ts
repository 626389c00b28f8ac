import { describe, expect, test } from "vitest";
import { OwnWatches } from "./own-watches.ts";
import { WatchedElsewhere } from "./watched-elsewhere.ts";
import type { WatchNotice } from "./watch-notice.ts";

const bob = { hubId: "b".repeat(16), bootId: "0000000b" };

/** Bob tells Ada over a link which rooms are watched at him. */
function createPair() {
  const link = { isOpen: true, isStuck: false };
  const sent: WatchNotice[] = [];
  const ada = new WatchedElsewhere();
  const own = new OwnWatches({
    openHubIds: () => (link.isOpen ? ["a"] : []),
    notify(_hubId, notice) {
      if (link.isStuck) return false;
      sent.push(notice);
      // As on the wire.
      ada.noticed(bob, JSON.parse(JSON.stringify(notice)) as object);
      return true;
    },
  });
  const beat = () => ada.seen(bob, own.revision);
  beat();
  return { ada, own, link, sent, beat };
}

function linked() {
  const pair = createPair();
  pair.own.linkOpened("a");
  return pair;
}

describe("rooms watched at another hub", () => {
  test("are all of them until the hub has told", () => {
    const { ada, own } = createPair();
    expect(ada.isWatched("ABC234")).toBe(true);
    own.linkOpened("a");
    expect(ada.isWatched("ABC234")).toBe(false);
  });

  test("are those that it told when its link opened, and those that changed since", () => {
    const { ada, own } = createPair();
    own.watched("ABC234");
    own.watched("QRS567");
    own.linkOpened("a");
    own.unwatched("ABC234");
    own.watched("XYZ789");
    expect(["ABC234", "QRS567", "XYZ789"].map((code) => ada.isWatched(code))).toEqual([
      ...[false, true, true],
    ]);
  });

  test("are all of them while the hub itself is watched, and then those of before", () => {
    const { ada, own } = linked();
    own.watched("ABC234");
    own.watched(undefined);
    own.watched("QRS567");
    expect(ada.isWatched("XYZ789")).toBe(true);
    own.unwatched(undefined);
    expect(["ABC234", "QRS567", "XYZ789"].map((code) => ada.isWatched(code))).toEqual([
      ...[true, true, false],
    ]);
  });

  test("are all of them at a hub that watches more than one notice holds", () => {
    const { ada, own, sent } = linked();
    for (let n = 0; n <= 2_000; n++) own.watched(`ROOM${n}`);
    expect([ada.isWatched("ABC234"), sent.at(-1)]).toEqual([
      true,
      { kind: "watches", revision: 2_001 },
    ]);
    own.unwatched("ROOM7");
    expect([ada.isWatched("ROOM7"), ada.isWatched("ROOM8")]).toEqual([false, true]);
  });

  test("are all of them from the hub's next beat on while its notices do not arrive", () => {
    const { ada, own, link, beat } = linked();
    link.isStuck = true;
    own.watched("ABC234");
    expect(ada.isWatched("ABC234")).toBe(false);
    beat();
    expect([ada.isWatched("ABC234"), ada.isWatched("QRS567")]).toEqual([true, true]);
    link.isStuck = false;
    own.tick();
    expect([ada.isWatched("ABC234"), ada.isWatched("QRS567")]).toEqual([true, false]);
  });

  test("are all of them after a notice that followed a lost one", () => {
    const { ada, own, link } = linked();
    link.isStuck = true;
    own.watched("ABC234");
    link.isStuck = false;
    own.watched("QRS567");
    expect(ada.isWatched("XYZ789")).toBe(true);
    own.tick();
    expect(["ABC234", "QRS567", "XYZ789"].map((code) => ada.isWatched(code))).toEqual([
      ...[true, true, false],
    ]);
  });

  test("are all of them once its link is lost, until it tells again", () => {
    const { ada, own } = linked();
    own.watched("ABC234");
    ada.linkClosed(bob);
    expect(ada.isWatched("QRS567")).toBe(true);
    own.linkOpened("a");
    expect(ada.isWatched("QRS567")).toBe(false);
  });

  test("do not count while the hub counts as dead, and are known when it was not", () => {
    const { ada, own, beat } = linked();
    own.watched("ABC234");
    ada.gone(bob.hubId);
    expect(ada.isWatched("ABC234")).toBe(false);
    own.watched("QRS567");
    beat();
    expect(["ABC234", "QRS567", "XYZ789"].map((code) => ada.isWatched(code))).toEqual([
      ...[true, true, false],
    ]);
  });

  test("are all of them at a hub that has restarted, and at one of a version that does not tell", () => {
    const { ada } = linked();
    ada.seen({ ...bob, bootId: "000000bb" }, 0);
    expect(ada.isWatched("ABC234")).toBe(true);
    const { ada: other } = linked();
    other.seen(bob, undefined);
    expect(other.isWatched("ABC234")).toBe(true);
  });

  test("are not told again while every room is watched anyway", () => {
    const { own, sent } = linked();
    own.watched(undefined);
    own.watched("ABC234");
    own.unwatched("ABC234");
    expect(sent).toEqual([
      { kind: "watches", revision: 0, rooms: [] },
      { kind: "watches", revision: 1 },
    ]);
  });

  test("are left to others when a notice is about something else, or has no such form", () => {
    const ada = new WatchedElsewhere();
    const notices = [
      { kind: "grant" },
      { kind: "watches", revision: "1", rooms: [] },
      { kind: "watches", revision: 1, rooms: [7] },
      { kind: "watch", revision: 1 },
    ];
    expect(notices.map((notice) => ada.noticed(bob, notice))).toEqual(notices.map(() => false));
    expect(ada.isWatched("ABC234")).toBe(false);
  });
});
