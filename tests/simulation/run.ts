import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { findMutations } from "./find-mutations.ts";
import { batchSize, runBatch } from "./run-batch.ts";
import type { Length } from "./plan.ts";
import { type HistoryResult, inWords } from "./result.ts";

const usage = `npm run simulate -- [options]

  --histories N   how many histories, 100 by default
  --minutes N     as many histories as fit in this time, fractions too, instead of a number
  --seed S        of the first history, 1 by default; the next one has the next seed
  --short         a tenth of the work, with more faults in a second: what npm test runs
  --faults I,J    only these faults of each plan, counted from 0; "none" for none
  --trace         every step
  --details       what each client and each watcher saw
  --mutations X   plants the defect of that name, or each with "all" or "blind", and shows which history finds it
                  within 5 CPU minutes: 50 short ones and 50 others in turn
  --quiet         only what does not hold, and the sum
`;

const { values } = parseArgs({
  options: {
    histories: { type: "string" },
    minutes: { type: "string" },
    seed: { type: "string", default: "1" },
    short: { type: "boolean", default: false },
    faults: { type: "string" },
    trace: { type: "boolean", default: false },
    details: { type: "boolean", default: false },
    mutations: { type: "string" },
    quiet: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

if (values.help) {
  process.stdout.write(usage);
  process.exit(0);
}

const faults = values.faults === "none" ? [] : values.faults?.split(",").map(Number);
const length: Length = values.short ? "short" : "long";

if (values.mutations !== undefined) {
  const areFound = await findMutations(values.mutations, {
    firstSeed: Number(values.seed),
    mostHistories: values.histories === undefined ? undefined : Number(values.histories),
    lengths: values.histories === undefined && !values.short ? ["short", "long"] : [length],
    faults,
  });
  process.exit(areFound ? 0 : 1);
}

const startMs = performance.now();
const untilMs =
  values.minutes === undefined ? undefined : startMs + Number(values.minutes) * 60_000;
const sum = { histories: 0, requests: 0, faults: 0, steps: 0, simulatedMs: 0, failed: 0 };
let seed = Number(values.seed);
const histories = untilMs === undefined ? Number(values.histories ?? 100) : Infinity;
const endSeed = seed + histories;
// What a history prints beside its result stays together.
const batchesAtOnce = values.trace || values.details ? 1 : availableParallelism();

await Promise.all(Array.from({ length: batchesAtOnce }, runBatches));

const seconds = (performance.now() - startMs) / 1_000;
const hours = sum.simulatedMs / 3_600_000;
process.stdout.write(
  `${sum.histories} histories, ${hours.toFixed(1)} simulated hours, ${sum.requests} requests, ` +
    `${sum.faults} faults, ${sum.steps} steps: ${sum.failed} failed, in ${seconds.toFixed(1)} s\n`,
);
process.exitCode = sum.failed === 0 ? 0 : 1;

async function runBatches(): Promise<void> {
  const mostAtOnce = Math.min(batchSize, Math.ceil(histories / batchesAtOnce));
  const isInTime = () => untilMs === undefined || performance.now() < untilMs;
  while (seed < endSeed && isInTime()) {
    const count = Math.min(mostAtOnce, endSeed - seed);
    const options = {
      ...{ seed, count, length, trace: values.trace, details: values.details, mutation: undefined },
      untilMs: untilMs === undefined ? undefined : Date.now() + untilMs - performance.now(),
      faults,
    };
    seed += count;
    for await (const result of runBatch(options)) report(result);
  }
}

function report(result: HistoryResult): void {
  sum.histories += 1;
  sum.requests += result.requests;
  sum.faults += result.faults;
  sum.steps += result.steps;
  sum.simulatedMs += result.simulatedMs;
  if (result.problems.length > 0) sum.failed += 1;
  if (result.problems.length > 0 || !values.quiet) process.stdout.write(inWords(result));
}
