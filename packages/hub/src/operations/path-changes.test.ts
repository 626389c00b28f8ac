import { describe, expect, test } from "vitest";
import type { Participant } from "../domain/participant.ts";
import { isRoutable } from "../domain/readiness.ts";
import { participantView } from "../domain/views.ts";
import {
  announceBudgets,
  participantRests,
  statusReported,
  tunnelClosed,
  tunnelOpened,
} from "./path-changes.ts";
import { createOffice } from "./operations.fixture.ts";

async function joined(budget: Participant["budget"]) {
  const office = createOffice();
  const { participant } = await office.join({ transport: "tunnel" });
  const { context } = office;
  tunnelOpened(context, participant, { ready: true, budget });
  office.seen();
  return {
    ...office,
    participant,
    report: (remainingTokens: number) =>
      statusReported(context, participant, {
        ready: true,
        budget: { ...budget, remainingTokens },
      }),
    rest: (ms: number) => participantRests(context, participant, context.nowMs() + ms),
    isRoutable: () => isRoutable(participant, context.nowMs),
    sweep: (): string[] => {
      announceBudgets(context);
      return office.seen();
    },
    listed: () => participantView(participant, context.nowMs()),
  };
}

const full = { tokensPerDay: 100, remainingTokens: 100 };

describe("a participant with a budget", () => {
  test("is listed with it from the first event of its tunnel, without a second one", async () => {
    const { listed, sweep } = await joined(full);
    expect(listed().budget).toEqual(full);
    expect(sweep()).toEqual([]);
  });

  test("is announced when a tenth is used, while listings are exact", async () => {
    const { report, pass, sweep, listed } = await joined(full);
    pass(5_000);
    report(99);
    expect(listed().budget?.remainingTokens).toBe(99);
    expect(sweep()).toEqual([]);
    report(89);
    expect(sweep()).toEqual(["participant.updated ada"]);
    expect(sweep()).toEqual([]);
  });

  test("has none in listings once its tunnel is closed", async () => {
    const { context, participant, listed } = await joined(full);
    tunnelClosed(context, participant);
    expect(listed()).not.toHaveProperty("budget");
  });
});

describe("a participant that refused a request for its budget", () => {
  test("is passed over until its time is over, and says so in listings", async () => {
    const { rest, pass, sweep, listed, isRoutable, woken } = await joined(undefined);
    pass(5_000);
    rest(25_000);
    expect(isRoutable()).toBe(false);
    expect(listed().connection).toMatchObject({
      connected: true,
      readiness: "ready",
      problem: "its budget is used up for 25 s",
    });
    expect(sweep()).toEqual(["participant.updated ada"]);
    pass(25_000);
    expect(isRoutable()).toBe(true);
    expect(listed().connection).not.toHaveProperty("problem");
    const wakes = woken.length;
    expect(sweep()).toEqual(["participant.updated ada"]);
    // Requests that wait for others may go to it.
    expect(woken.length).toBeGreaterThan(wakes);
  });

  test("is used again at once when its agent reports renewed tokens", async () => {
    const { report, rest, isRoutable, woken } = await joined(full);
    report(0);
    rest(3_600_000);
    report(0);
    expect(isRoutable()).toBe(false);
    const wakes = woken.length;
    report(100);
    expect(isRoutable()).toBe(true);
    expect(woken.length).toBeGreaterThan(wakes);
  });

  test.each([
    ["its rest was not announced", 0],
    ["the announcement of its end is not due", 5_000],
  ])("gets requests that wait when its time is over, though %s", async (_why, afterMs) => {
    const { rest, pass, sweep, woken } = await joined(undefined);
    pass(afterMs);
    rest(2_000);
    sweep();
    const wakes = woken.length;
    pass(1_999);
    sweep();
    expect(woken.length).toBe(wakes);
    pass(1);
    sweep();
    expect(woken.length).toBe(wakes + 1);
    sweep();
    expect(woken.length).toBe(wakes + 1);
  });

  test("is used again at once when its agent dials again", async () => {
    const { context, participant, rest, isRoutable } = await joined(full);
    rest(3_600_000);
    tunnelOpened(context, participant, { ready: true, budget: full });
    expect(isRoutable()).toBe(true);
  });
});
