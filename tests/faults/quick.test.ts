import { beforeAll, expect, test } from "vitest";
import { fillCompileCache } from "./compile-cache.ts";
import { runScenario } from "./run-scenario.ts";
import { scenarios } from "./scenarios/index.ts";

// The short tier: real processes, several worlds at a time; without root those of clusters are skipped. What must hold fails a test. Times and amounts of
// memory belong to a machine that does nothing else: here a miss is reported, `npm run test:faults` judges it.
beforeAll(fillCompileCache);

for (const scenario of scenarios.filter(({ isQuick }) => isQuick)) {
  test.concurrent(scenario.title, { timeout: 300_000 }, async ({ skip }) => {
    const { kind, notes, missed } = await runScenario(scenario, true);
    skip(kind === "skipped", notes.join("; "));
    for (const miss of missed) process.stdout.write(`missed: ${miss}\n`);
    expect(notes).toEqual([]);
  });
}
