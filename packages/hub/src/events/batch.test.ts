import { systemWorld, type World } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { createBatch } from "./batch.ts";

/** What has to wait, and how long. */
function batched(gapMs: number) {
  const time = { ms: 1_000 };
  const waits: { work: () => void; ms: number }[] = [];
  const world: World = {
    ...systemWorld,
    monotonicMs: () => time.ms,
    setTimeout: (work, ms) => waits.push({ work, ms }),
    setImmediate: (work) => waits.push({ work, ms: 0 }),
  };
  const batch = createBatch(world, gapMs);
  const done: string[] = [];
  return {
    ...{ time, done },
    /** @returns the ms that it is made to wait */
    add: (what: string): number | undefined => {
      batch(() => done.push(what));
      return waits.at(-1)?.ms;
    },
    /** All that waited is done, now. */
    comeDue: () => waits.splice(0).forEach(({ work }) => work()),
  };
}

test("what comes first, or after a pause, is done at the end of its turn", () => {
  const { time, add, comeDue, done } = batched(10);
  expect(add("first")).toBe(0);
  comeDue();
  time.ms += 10;
  expect(add("later")).toBe(0);
  comeDue();
  expect(done).toEqual(["first", "later"]);
});

test("what comes soon after waits for what is left of the gap", () => {
  const { time, add, comeDue, done } = batched(10);
  add("first");
  time.ms += 3;
  comeDue();
  time.ms += 4;
  expect(add("second")).toBe(6);
  expect(done).toEqual(["first"]);
  time.ms += 6;
  comeDue();
  expect(add("third")).toBe(10);
  expect(done).toEqual(["first", "second"]);
});

test("in the system's world it waits for the real end of the turn, and for real milliseconds", async () => {
  const batch = createBatch(systemWorld, 1);
  await new Promise<void>((resolve) => batch(resolve));
  await new Promise<void>((resolve) => batch(resolve));
});
