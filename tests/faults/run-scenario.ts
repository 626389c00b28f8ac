import { within } from "../support/waiting.ts";
import { Children } from "./child.ts";
import { compileCacheFolder } from "./compile-cache.ts";
import { isThere } from "./machine.ts";
import type { Figure } from "./figure.ts";
import type { Scenario } from "./scenario.ts";
import { World } from "./world.ts";

export interface Report {
  scenario: Scenario;
  kind: "held" | "broken" | "skipped";
  /** why it was skipped, or what did not hold */
  notes: string[];
  /** times and amounts that were not reached; they break a scenario of the full run only */
  missed: string[];
  figures: Figure[];
  /** client calls that were compared with the events */
  calls: number;
  violations: number;
  seconds: number;
}

/** Runs one scenario from start to clean-up and returns its result; never throws. */
export async function runScenario(scenario: Scenario, isQuick: boolean): Promise<Report> {
  const startedMs = performance.now();
  const report: Report = {
    ...{
      scenario,
      kind: "held",
      notes: [],
      missed: [],
      figures: [],
      calls: 0,
      violations: 0,
      seconds: 0,
    },
  };
  const lacking = scenario.needs.filter((need) => !isThere(need));
  if (lacking.length > 0) {
    return { ...report, kind: "skipped", notes: [`needs ${lacking.join(", ")}`] };
  }
  try {
    await using children = new Children(isQuick ? { NODE_COMPILE_CACHE: compileCacheFolder } : {});
    await using world = await World.create(children, isQuick);
    await play(scenario, world, report);
    report.figures.push(...world.figures);
  } catch (error) {
    report.notes.push(`afterwards: ${messageOf(error)}`);
  }
  const unmet = report.figures.filter(({ isMet }) => !isMet);
  report.notes.push(...unmet.filter(({ needsFreeMachine }) => !needsFreeMachine).map(inWords));
  report.missed = unmet.filter(({ needsFreeMachine }) => needsFreeMachine).map(inWords);
  if (report.notes.length > 0 || (report.missed.length > 0 && !isQuick)) report.kind = "broken";
  report.seconds = (performance.now() - startedMs) / 1_000;
  return report;
}

async function play(scenario: Scenario, world: World, report: Report): Promise<void> {
  try {
    await within(scenario.run(world), "the scenario to end", scenario.limitMs ?? 240_000);
  } catch (error) {
    report.notes.push(messageOf(error));
  }
  try {
    const settling = world.settle();
    const { calls, problems } = await within(settling, "every client's call to end", 60_000);
    report.calls = calls;
    report.violations = problems.length;
    report.notes.push(...problems.slice(0, 5).map((problem) => `ledger: ${problem}`));
    if (problems.length > 5) report.notes.push(`ledger: and ${problems.length - 5} more`);
  } catch (error) {
    report.violations++;
    report.notes.push(`ledger: ${messageOf(error)}`);
  }
}

function inWords({ what, goal, measured }: Figure): string {
  return `${what}: ${measured}, goal ${goal}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
