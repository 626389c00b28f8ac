import { mutations } from "./mutations.ts";
import type { Length } from "./plan.ts";
import { batchSize, runBatch } from "./run-batch.ts";

/** The histories in which planted defects are looked for. */
interface Search {
  firstSeed: number;
  /** a defect that so many do not show is not found */
  mostHistories: number;
  length: Length;
  /** the faults of each plan that happen, by index; undefined for all */
  faults: number[] | undefined;
}

/**
 * Plants defects, one after the other, and prints a row for each: which checker noticed it, and after how many histories.
 *
 * @param name - of one of them, or `all`
 * @returns whether each was found
 */
export async function findMutations(name: string, search: Search): Promise<boolean> {
  const chosen = mutations.filter((mutation) => name === "all" || mutation.name === name);
  if (chosen.length === 0) throw new Error(`There is no mutation ${name}.`);
  process.stdout.write("| Planted | Histories | s | Noticed by |\n|---|---|---|---|\n");
  let found = 0;
  for (const mutation of chosen) {
    const startMs = performance.now();
    const { histories, problem } = await firstProblem(mutation.name, search);
    const seconds = ((performance.now() - startMs) / 1_000).toFixed(0);
    if (problem !== undefined) found += 1;
    const noticedBy = problem?.slice(0, problem.indexOf(":")) ?? "nothing";
    process.stdout.write(`| ${mutation.name} | ${histories} | ${seconds} | ${noticedBy} |\n`);
  }
  process.stdout.write(`\n${found} of ${chosen.length} found\n`);
  return found === chosen.length;
}

async function firstProblem(
  mutation: string,
  { firstSeed, mostHistories, length, faults }: Search,
) {
  let histories = 0;
  const options = { untilMs: undefined, length, faults, trace: false, details: false, mutation };
  while (histories < mostHistories) {
    const count = Math.min(batchSize, mostHistories - histories);
    const batch = { ...options, seed: firstSeed + histories, count };
    for await (const { problems } of runBatch(batch)) {
      histories += 1;
      if (problems[0] !== undefined) return { histories, problem: problems[0] };
    }
  }
  return { histories, problem: undefined };
}
