import { expect, test } from "vitest";
import { PacedUpdates } from "./paced-updates.ts";
import type { Participant } from "./participant.ts";

function createPaced(changesByTime = false) {
  const participant = {} as Participant;
  const state = { shown: "blank" };
  const paced = new PacedUpdates({
    shownOf: () => state.shown,
    blank: "blank",
    changesByTime: () => changesByTime,
  });
  return {
    change(shown: string): void {
      state.shown = shown;
      paced.note(participant);
    },
    showByTime(shown: string): void {
      state.shown = shown;
    },
    dueAt: (nowMs: number) => paced.takeDue(nowMs).length,
    announceAt: (nowMs: number) => {
      paced.noteAnnounced(participant, nowMs);
    },
  };
}

test("the first change is announced at once, the next 5 s later", () => {
  const paced = createPaced();
  paced.change("a");
  expect(paced.dueAt(1)).toBe(1);
  paced.change("b");
  expect(paced.dueAt(5_000)).toBe(0);
  expect(paced.dueAt(5_001)).toBe(1);
  expect(paced.dueAt(20_000)).toBe(0);
});

test("a change that is undone before it was due is not announced", () => {
  const paced = createPaced();
  paced.change("a");
  paced.dueAt(1);
  paced.change("b");
  expect(paced.dueAt(2_000)).toBe(0);
  paced.change("a");
  expect(paced.dueAt(10_000)).toBe(0);
});

test("what another event has shown is not announced again", () => {
  const paced = createPaced();
  paced.change("a");
  paced.announceAt(1);
  expect(paced.dueAt(10_000)).toBe(0);
});

test("what changes with time is looked at again without a note", () => {
  const paced = createPaced(true);
  paced.change("resting");
  expect(paced.dueAt(1)).toBe(1);
  paced.showByTime("ready");
  expect(paced.dueAt(10_000)).toBe(1);
});
