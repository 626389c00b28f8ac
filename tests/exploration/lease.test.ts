import { describe, expect, test } from "vitest";
import { explore } from "./explore.ts";
import { leaseDefects } from "./lease/defects.ts";
import { leaseMachine } from "./lease/machine.ts";
import { quickScenarios } from "./lease/scenarios.ts";

describe("in every order of what can happen, a room has one home that knows its agents, and in the end has a home", () => {
  test.each(quickScenarios)(
    "with $name",
    ({ budget }) => {
      expect(explore(leaseMachine(budget)).found).toBe(undefined);
    },
    120_000,
  );
});

describe("the exploration of the lease", () => {
  test.each(leaseDefects)("finds that $name", ({ budget, rules }) => {
    const { found } = explore(leaseMachine(budget, rules));
    expect(found?.trace.length).toBeGreaterThan(0);
  });

  test("gives the shortest way to what does not hold", () => {
    const [believes] = leaseDefects;
    const { found } = explore(leaseMachine({ ...believes!.budget, joins: "ab" }, believes!.rules));
    expect(found).toEqual({
      problem: "A serves the room although it has seen that another hub is its home",
      trace: ["B takes the room of a hub that runs", "write of B arrives", "A sees the entry"],
    });
  });
});
