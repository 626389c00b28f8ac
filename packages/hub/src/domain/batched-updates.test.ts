import { expect, test } from "vitest";
import { BatchedUpdates, LoadedUpdates, BudgetUpdates } from "./batched-updates.ts";
import type { Participant } from "./participant.ts";
import { Machines } from "./slots.ts";
import { aParticipant } from "./room.fixture.ts";

function createUpdates(changesByTime = false) {
  const participant = {} as Participant;
  const state = { shown: "blank" };
  const updates = new BatchedUpdates({
    shownOf: () => state.shown,
    blank: "blank",
    changesByTime: () => changesByTime,
  });
  return {
    change(shown: string): void {
      state.shown = shown;
      updates.note(participant);
    },
    showByTime(shown: string): void {
      state.shown = shown;
    },
    dueAt: (nowMs: number) => updates.takeDue(nowMs).length,
    announceAt: (nowMs: number) => {
      updates.noteAnnounced(participant, nowMs);
    },
  };
}

test("the first change is announced at once, the next 5 s later", () => {
  const updates = createUpdates();
  updates.change("a");
  expect(updates.dueAt(1)).toBe(1);
  updates.change("b");
  expect(updates.dueAt(5_000)).toBe(0);
  expect(updates.dueAt(5_001)).toBe(1);
  expect(updates.dueAt(20_000)).toBe(0);
});

test("a change that is undone before it was due is not announced", () => {
  const updates = createUpdates();
  updates.change("a");
  updates.dueAt(1);
  updates.change("b");
  expect(updates.dueAt(2_000)).toBe(0);
  updates.change("a");
  expect(updates.dueAt(10_000)).toBe(0);
});

test("what another event has shown is not announced again", () => {
  const updates = createUpdates();
  updates.change("a");
  updates.announceAt(1);
  expect(updates.dueAt(10_000)).toBe(0);
});

test("what changes with time is looked at again without a note", () => {
  const updates = createUpdates(true);
  updates.change("resting");
  expect(updates.dueAt(1)).toBe(1);
  updates.showByTime("ready");
  expect(updates.dueAt(10_000)).toBe(1);
});

/** Two participants in front of one model server. */
function oneMachine() {
  const [ana, ben] = [aParticipant({ id: "ana" }), aParticipant({ id: "ben" })];
  const machines = new Machines();
  for (const each of [ana, ben]) machines.assign(each, "0123456789");
  return { ana, ben, updates: new LoadedUpdates() };
}

test("what a server has loaded holds for all participants in front of it", () => {
  const { ana, ben, updates } = oneMachine();
  updates.report(ana, ["llama3"]);
  expect(ben.learned.loadedModels).toEqual(["llama3"]);
  expect(updates.takeDue(0)).toEqual([ana, ben]);
  updates.report(ben, ["qwen3"]);
  expect(ana.learned.loadedModels).toEqual(["qwen3"]);
});

test("names that are too long for a model are left out", () => {
  const { ana, updates } = oneMachine();
  updates.report(ana, ["x".repeat(257), "llama3", "y".repeat(256)]);
  expect(ana.learned.loadedModels).toEqual(["llama3", "y".repeat(256)]);
});

test("a participant that repeats its report says nothing about what others reported since", () => {
  const { ana, ben, updates } = oneMachine();
  updates.report(ana, ["llama3"]);
  updates.report(ben, ["qwen3"]);
  updates.report(ana, ["llama3"]);
  expect(ana.learned.loadedModels).toEqual(["qwen3"]);
  updates.report(ana, []);
  expect(ben.learned.loadedModels).toEqual([]);
});

test("a participant that has not read the loaded models yet leaves those that others reported", () => {
  const { ana, ben, updates } = oneMachine();
  updates.report(ana, ["llama3"]);
  ben.learned.loadedModels = undefined;
  updates.report(ben, undefined);
  expect(ana.learned.loadedModels).toEqual(["llama3"]);
});

test("a report counts again after the participant moved to another endpoint", () => {
  const ana = aParticipant({ id: "ana" });
  const updates = new LoadedUpdates();
  updates.report(ana, ["llama3"]);
  ana.learned.loadedModels = undefined;
  updates.report(ana, ["llama3"]);
  expect(ana.learned.loadedModels).toEqual(["llama3"]);
});

test("a participant whose server says nothing of loaded models is not announced for it", () => {
  const ana = aParticipant({ id: "ana" });
  const updates = new LoadedUpdates();
  updates.report(ana, undefined);
  expect(updates.takeDue(0)).toEqual([]);
  updates.report(ana, ["llama3"]);
  updates.report(ana, undefined);
  expect(ana.learned.loadedModels).toBeUndefined();
});

test("each participant of a machine is announced at most once in 5 s", () => {
  const { ana, ben, updates } = oneMachine();
  updates.report(ana, []);
  expect(updates.takeDue(0)).toHaveLength(2);
  updates.report(ben, ["llama3"]);
  expect(updates.takeDue(4_999)).toEqual([]);
  expect(updates.takeDue(5_000)).toEqual([ana, ben]);
  updates.report(ana, ["llama3"]);
  expect(updates.takeDue(60_000)).toEqual([]);
});

function createWatched() {
  const updates = new BudgetUpdates();
  const ada = aParticipant({ id: "ada" });
  let nowMs = 100_000;
  return {
    ada,
    pass: (ms: number) => (nowMs += ms),
    nowMs: () => nowMs,
    /** @returns how many events followed */
    report(remainingTokens: number, tokensPerDay = 1_000): number {
      ada.load.budget = { tokensPerDay, remainingTokens };
      updates.note(ada);
      return this.sweep();
    },
    rest(untilMs: number): number {
      ada.load.restsUntilMs = untilMs;
      updates.note(ada);
      return this.sweep();
    },
    sweep(): number {
      return updates.takeDue(nowMs).length;
    },
  };
}

test("a budget is announced when a tenth of it is used, not for each response", () => {
  const watched = createWatched();
  expect(watched.report(1_000)).toBe(1);
  let announced = 0;
  for (let remaining = 999; remaining >= 0; remaining--) {
    watched.pass(5_000);
    announced += watched.report(remaining);
  }
  expect(announced).toBe(10);
});

test("a budget that is used up within seconds is announced once in 5 s, at last as it is", () => {
  const watched = createWatched();
  expect(watched.report(1_000)).toBe(1);
  for (const remaining of [800, 600, 400, 0]) {
    watched.pass(1_000);
    expect(watched.report(remaining)).toBe(0);
  }
  watched.pass(999);
  expect(watched.sweep()).toBe(0);
  watched.pass(1);
  expect(watched.sweep()).toBe(1);
  watched.pass(60_000);
  expect(watched.sweep()).toBe(0);
});

test("a change that was undone before it was due is not announced", () => {
  const watched = createWatched();
  watched.report(1_000);
  watched.report(0);
  watched.report(1_000);
  watched.pass(10_000);
  expect(watched.sweep()).toBe(0);
});

test("a rest is announced when it begins and when it is over", () => {
  const watched = createWatched();
  expect(watched.rest(watched.nowMs() + 60_000)).toBe(1);
  watched.pass(59_999);
  expect(watched.sweep()).toBe(0);
  watched.pass(1);
  expect(watched.sweep()).toBe(1);
  watched.pass(60_000);
  expect(watched.sweep()).toBe(0);
});

test("other limits are announced, a participant without a budget is not", () => {
  const watched = createWatched();
  watched.report(1_000);
  watched.pass(5_000);
  expect(watched.report(2_000, 2_000)).toBe(1);
  const updates = new BudgetUpdates();
  updates.note(aParticipant({ id: "bob" }));
  expect(updates.takeDue(0)).toEqual([]);
});
