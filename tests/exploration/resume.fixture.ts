import { fileURLToPath } from "node:url";
import { runCommand } from "../support/programs/run-command.ts";
import type { Exploration } from "./explore.ts";

const run = fileURLToPath(new URL("resume/run.ts", import.meta.url));
const flags = ["--conditions=@roomhub/source", "--disable-warning=ExperimentalWarning"];

/** What `resume/run.ts` printed. */
export async function exploreResume(
  what: "quick" | "deep" | "full" | "defects",
): Promise<(Partial<Exploration> & { name: string })[]> {
  const { stdout, stderr } = await runCommand(process.execPath, [...flags, run, what], 280_000);
  if (stdout === "") throw new Error(stderr);
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}
