import type { Fault, Length } from "./plan.ts";

/** What a process that runs histories is to do. */
export interface BatchOptions {
  /** of the first history */
  seed: number;
  count: number;
  length: Length;
  /** epoch ms: no history begins later; undefined: all run */
  untilMs: number | undefined;
  /** the faults of each plan that happen, by index; undefined for all */
  faults: number[] | undefined;
  trace: boolean;
  details: boolean;
  /** the name of a defect to plant; undefined for none */
  mutation: string | undefined;
}

/** What came of one history. */
export interface HistoryResult {
  seed: number;
  length: Length;
  /** of everything that happened, in its order: the same for the same seed and code */
  digest: string;
  steps: number;
  simulatedMs: number;
  /** of its process so far */
  cpuMs: number;
  requests: number;
  faults: number;
  /** what does not hold, each with the name of its checker */
  problems: string[];
  /** the faults without which it would hold, with their indexes; empty when it holds */
  needed: [number, Fault][];
}

/** Lines for people. The first one of a failure is the command that repeats it. */
export function inWords({ seed, length, digest, problems, needed }: HistoryResult): string {
  if (problems.length === 0) return `seed ${seed}: ${digest}\n`;
  const indexes = needed.map(([index]) => index).join(",") || "none";
  const short = length === "short" ? " --short" : "";
  const lines = [
    `npm run simulate -- --histories 1 --seed ${seed}${short} --faults ${indexes} --details`,
    ...needed.map(([, fault]) => `  fault ${JSON.stringify(fault)}`),
    ...problems.slice(0, 8).map((problem) => `  ${problem}`),
  ];
  return `${lines.join("\n")}\n`;
}
