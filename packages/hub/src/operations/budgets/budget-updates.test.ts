import { expect, test } from "vitest";
import { aParticipant } from "../../domain/room.fixture.ts";
import { BudgetUpdates } from "./budget-updates.ts";

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
      ada.budget = { tokensPerDay, remainingTokens };
      updates.note(ada);
      return this.sweep();
    },
    rest(untilMs: number): number {
      ada.restsUntilMs = untilMs;
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
