import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { runCommand } from "../support/programs/run-command.ts";

const run = fileURLToPath(new URL("run.ts", import.meta.url));

const flags = ["--conditions=@roomhub/source", "--disable-warning=ExperimentalWarning"];

/** Of defects that were found here: a hub that dialled itself without a pause, two ends, two generations. */
const onceFailed = [
  { seed: 20, faults: "0,1,2" },
  { seed: 356, faults: "1,3" },
  { seed: 209, faults: "0" },
];

describe("the simulation", () => {
  test("gives the same history for the same seed", async () => {
    const [one, other] = await Promise.all([simulate("3", "7"), simulate("3", "7")]);
    expect(digestsOf(one.stdout)).toHaveLength(3);
    expect(digestsOf(other.stdout)).toEqual(digestsOf(one.stdout));
  });

  test("finds nothing that does not hold in sixty histories", async () => {
    const { stdout, exitCode } = await simulate("60", "1", "--quiet");
    expect(stdout).toMatch(/^60 histories, .*: 0 failed, /);
    expect(exitCode).toBe(0);
  });

  test.each(["a slot is freed twice", "an event is sent twice", "a slot is never freed"])(
    "notices a defect that is planted: %s",
    async (name) => {
      const { stdout, exitCode } = await runCommand(
        process.execPath,
        [...flags, run, "--mutations", name],
        120_000,
      );
      expect(stdout).toContain("1 of 1 found");
      expect(exitCode).toBe(0);
    },
  );

  test.each(onceFailed)("finds nothing in seed $seed, which once failed", async (once) => {
    const { stdout } = await simulate("1", String(once.seed), "--faults", once.faults);
    expect(stdout).toContain("1 histories, ");
    expect(stdout).toContain(": 0 failed, ");
  });
});

function simulate(histories: string, seed: string, ...options: string[]) {
  const args = [run, "--histories", histories, "--seed", seed, ...options];
  return runCommand(process.execPath, [...flags, ...args], 120_000);
}

function digestsOf(output: string): string[] {
  return output.match(/^seed \d+: [0-9a-f]{8}$/gm) ?? [];
}
