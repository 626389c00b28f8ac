import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { BatchOptions, HistoryResult } from "./result.ts";

/** So many histories run in one process: some of what a killed process of a history held stays in memory. */
export const batchSize = 300;

/** What a history makes is collected with it, not copied every few milliseconds. */
const youngGeneration = ["--max-semi-space-size=64"];

/**
 * Runs histories in a process of their own, which ends with the loop over them. What it prints beside them is printed.
 *
 * @throws Error when the process ends without having run them
 */
export async function* runBatch(options: BatchOptions): AsyncGenerator<HistoryResult> {
  const batch = fileURLToPath(new URL("batch.ts", import.meta.url));
  const args = [...process.execArgv, ...youngGeneration, batch, JSON.stringify(options)];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise<number | null>((resolve) => {
    child.once("close", resolve);
  });
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      if (line.startsWith("{")) yield JSON.parse(line) as HistoryResult;
      else process.stdout.write(`${line}\n`);
    }
    const code = await ended;
    if (code !== 0) {
      const how = code ?? "a signal";
      throw new Error(`The process of seed ${options.seed} and later ended with ${how}.`);
    }
  } finally {
    child.kill();
  }
}
