import { expect, test, vi } from "vitest";
import { RoomWatches } from "./room-watches.ts";

function create() {
  const told: string[] = [];
  const answers: { resolve: () => void; reject: () => void }[] = [];
  const watches = new RoomWatches({
    bridge: {
      watch: (roomCode) => void told.push(`bus ${roomCode}`),
      unwatch: (roomCode) => void told.push(`bus without ${roomCode}`),
    },
    ownWatches: {
      watched: (roomCode) => void told.push(`hubs ${roomCode}`),
      unwatched: (roomCode) => void told.push(`hubs without ${roomCode}`),
    },
    heard() {
      told.push("asked");
      return new Promise<void>((resolve, reject) => void answers.push({ resolve, reject }));
    },
    detailWatched: () => void told.push("detail"),
  });
  return { watches, told, answers };
}

test("the first watcher of a room subscribes to the bus, notifies the other hubs, and asks them to confirm", () => {
  const { watches, told } = create();
  watches.watched("ABC234");
  expect(told).toEqual(["bus ABC234", "hubs ABC234", "asked"]);
  watches.unwatched("ABC234");
  expect(told.slice(3)).toEqual(["bus without ABC234", "hubs without ABC234"]);
});

test("a room is unheard until the answer, whatever it is", async () => {
  const { watches, answers } = create();
  watches.watched("ABC234");
  watches.watched("XYZ234");
  expect(watches.untilHeard("other")).toBeUndefined();
  const [first, second] = [watches.untilHeard("ABC234"), watches.untilHeard("XYZ234")];
  answers[0]?.resolve();
  await first;
  expect(watches.untilHeard("ABC234")).toBeUndefined();
  expect(watches.untilHeard("XYZ234")).toBeDefined();
  answers[1]?.reject();
  await second;
  expect(watches.untilHeard("XYZ234")).toBeUndefined();
});

test("a room is not waited for longer than 250 ms", async () => {
  vi.useFakeTimers();
  try {
    const { watches } = create();
    watches.watched("ABC234");
    let isHeard = false;
    void watches.untilHeard("ABC234")?.then(() => (isHeard = true));
    await vi.advanceTimersByTimeAsync(249);
    expect(isHeard).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(isHeard).toBe(true);
  } finally {
    vi.useRealTimers();
  }
});

test("who watches a room again is waited for again", async () => {
  const { watches, answers } = create();
  watches.watched("ABC234");
  const first = watches.untilHeard("ABC234");
  watches.unwatched("ABC234");
  expect(watches.untilHeard("ABC234")).toBeUndefined();
  watches.watched("ABC234");
  answers[0]?.resolve();
  await first;
  expect(watches.untilHeard("ABC234")).toBeDefined();
});
