import { expect, test } from "vitest";
import { runScenario } from "./run-scenario.ts";
import { scenarios } from "./scenarios/index.ts";

// The short tier of `npm run test:faults`: real processes, no root. What must hold fails a test; goals in milliseconds
// and megabytes belong to a machine that does nothing else, and are only judged by `npm run test:faults`.
for (const scenario of scenarios.filter(({ isQuick }) => isQuick)) {
  test(scenario.title, { timeout: 60_000 }, async ({ skip }) => {
    const { kind, notes } = await runScenario(scenario, true);
    skip(kind === "skipped", notes.join("; "));
    expect(notes).toEqual([]);
  });
}
