import { describe, expect, test } from "vitest";
import { explore } from "./explore.ts";
import { leaseMachine } from "./lease/machine.ts";
import { deepScenarios, fullScenarios } from "./lease/scenarios.ts";

const scenarios = process.env["EXPLORE_ALL"] === "1" ? fullScenarios : deepScenarios;

describe("in every order of what can happen, a room has one home that knows its agents, and in the end has a home", () => {
  test.each(scenarios)(
    "with $name",
    ({ budget }) => {
      expect(explore(leaseMachine(budget)).found).toBe(undefined);
    },
    300_000,
  );
});
