import { enableCompileCache } from "node:module";
import { installPlatform } from "./platform/install.ts";
import type { History as HistoryType } from "./history.ts";
import { plantMutation } from "./plant-mutation.ts";
import type { BatchOptions, HistoryResult } from "./result.ts";

const options = JSON.parse(process.argv[2] ?? "") as BatchOptions;
// Half of the time until the first history, from the second run on.
enableCompileCache();
// Before the product is loaded: modules keep what they import.
installPlatform();
if (options.mutation !== undefined) plantMutation(options.mutation);
const { createHub, fileRoomStore } = await import("@roomhub/hub");
const { createParticipant } = await import("@roomhub/participant");
const { createMemoryCluster } =
  await import("../../packages/hub/src/cluster/memory-cluster.fixture.ts");
const { DirectoryUnavailable } = await import("../../packages/hub/src/cluster/directory.ts");
const { drawPlan } = await import("./draw-plan.ts");
const { History } = await import("./history.ts");
const { everythingRecovered } = await import("./checkers/recovery.ts");
const { checkers } = await import("./checkers/index.ts");
const { detailsOf } = await import("./details.ts");

const product = {
  createHub,
  fileRoomStore,
  createParticipant,
  createMemoryCluster,
  DirectoryUnavailable,
};
const { seed: first, count, length, trace, details } = options;
const { untilMs = Number.POSITIVE_INFINITY } = options;

for (let seed = first; seed < first + count && Date.now() < untilMs; seed++) {
  const drawn = drawPlan(seed, length);
  const all = [...drawn.faults.keys()];
  const kept =
    options.faults === undefined ? all : all.filter((one) => options.faults?.includes(one));
  const { history, problems } = await runWith(kept, trace);
  const needed =
    problems.length > 0 && options.faults === undefined && options.mutation === undefined
      ? await shrink(kept)
      : kept;
  const result: HistoryResult = {
    ...{ seed, length, digest: history.scheduler.digest, steps: history.scheduler.steps, problems },
    simulatedMs: history.scheduler.nowMs,
    cpuMs: cpuMs(),
    requests: drawn.requests.length,
    faults: kept.length,
    needed: problems.length === 0 ? [] : needed.map((index) => [index, drawn.faults[index]!]),
  };
  if (details) print(detailsOf(history));
  print(JSON.stringify(result));

  async function runWith(indexes: readonly number[], isTraced: boolean) {
    const faults = drawn.faults.filter((_fault, index) => indexes.includes(index));
    const run = new History({ ...drawn, faults }, product);
    if (isTraced) run.scheduler.onTrace = print;
    await run.run((history) => everythingRecovered(history).length === 0);
    const found = Object.entries(checkers).flatMap(([name, check]) =>
      judge(check, run).map((problem) => `${name}: ${problem}`),
    );
    return { history: run, problems: found };
  }

  /** Leaves out faults, one after the other, as long as something does not hold without them. */
  async function shrink(indexes: readonly number[]): Promise<readonly number[]> {
    let remaining = indexes;
    for (const index of indexes) {
      const fewer = remaining.filter((one) => one !== index);
      const without = await runWith(fewer, false);
      if (without.problems.length > 0) remaining = fewer;
    }
    return remaining;
  }
}
process.exit(0);

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** A checker that throws is one of its history's problems, and ends no run of an hour. */
function judge(check: (one: HistoryType) => string[], history: HistoryType): string[] {
  try {
    return check(history);
  } catch (error) {
    return [`the checker threw ${error instanceof Error ? error.stack : String(error)}`];
  }
}
