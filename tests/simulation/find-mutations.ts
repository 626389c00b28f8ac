import { blindMutations } from "./blind-mutations.ts";
import { mutations } from "./mutations.ts";
import type { Length } from "./plan.ts";
import type { HistoryResult } from "./result.ts";
import { runBatch } from "./run-batch.ts";

/** The histories in which planted defects are looked for. */
interface Search {
  firstSeed: number;
  /** a defect that so many do not show is not found; undefined: as many as take {@link mostCpuMs} */
  mostHistories: number | undefined;
  /** taken in turn, {@link turn} histories of each */
  lengths: readonly Length[];
  /** the faults of each plan that happen, by index; undefined for all */
  faults: number[] | undefined;
}

const mostCpuMs = 300_000;
const turn = 50;

/**
 * Plants defects, one after the other, and prints a row for each: which checker noticed it, and after how many histories.
 *
 * @param name - of one of them, or `all`, or `blind` for those of `blind-mutations.ts`
 * @returns whether each was found
 */
export async function findMutations(name: string, search: Search): Promise<boolean> {
  const chosen = chosenBy(name);
  if (chosen.length === 0) {
    const names = [...mutations, ...blindMutations].map((one) => `\n  ${one.name}`).join("");
    process.stderr.write(`There is no mutation ${name}. There are:${names}\n`);
    return false;
  }
  process.stdout.write(
    "| Planted | Histories | CPU s | In seed | Noticed by |\n|---|---|---|---|---|\n",
  );
  let found = 0;
  for (const mutation of chosen) {
    const { histories, cpuMs, result } = await firstProblem(mutation.name, search);
    if (result !== undefined) found += 1;
    const columns = [
      ...[mutation.name, histories, (cpuMs / 1_000).toFixed(0)],
      result === undefined ? "–" : `${result.seed} ${result.length}`,
      nameOfChecker(result?.problems[0]),
    ];
    process.stdout.write(`| ${columns.join(" | ")} |\n`);
  }
  process.stdout.write(`\n${found} of ${chosen.length} found\n`);
  return found === chosen.length;
}

function chosenBy(name: string) {
  if (name === "all") return mutations;
  if (name === "blind") return blindMutations;
  return [...mutations, ...blindMutations].filter((mutation) => mutation.name === name);
}

async function firstProblem(mutation: string, search: Search) {
  const { firstSeed, mostHistories = Number.POSITIVE_INFINITY, lengths, faults } = search;
  const options = { untilMs: undefined, faults, trace: false, details: false, mutation };
  let [histories, cpuMs] = [0, 0];
  for (let round = 0; histories < mostHistories && cpuMs < mostCpuMs; round++) {
    const length = lengths[round % lengths.length]!;
    const seed = firstSeed + Math.floor(round / lengths.length) * turn;
    const count = Math.min(turn, mostHistories - histories);
    let last: HistoryResult | undefined;
    for await (const result of runBatch({ ...options, length, seed, count })) {
      histories += 1;
      last = result;
      if (result.problems.length > 0) return { histories, cpuMs: cpuMs + result.cpuMs, result };
    }
    cpuMs += last?.cpuMs ?? 0;
  }
  return { histories, cpuMs, result: undefined };
}

function nameOfChecker(problem: string | undefined): string {
  return problem?.slice(0, problem.indexOf(":")) ?? "nothing";
}
