import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { runCommand } from "../support/programs/run-command.ts";

const run = fileURLToPath(new URL("run.ts", import.meta.url));

const flags = ["--conditions=@roomhub/source", "--disable-warning=ExperimentalWarning"];

/** Histories that hold, since they are among those run here or by `npm test`, and do not with a defect. */
const planted = [
  { name: "a slot is freed twice", seed: 1 },
  { name: "an event is sent twice", seed: 1 },
  { name: "an fsync of a file is left out", seed: 22 },
  { name: "an agent does not count what runs for the home before (once)", seed: 41 },
  {
    name: "an agent gives a request back before its socket has sent it",
    seed: 5,
    only: ["--short"],
  },
  { name: "a room is confirmed before it is stored (once)", seed: 221, only: ["--short"] },
  {
    name: "a session begins at a hub that is not the room's home any more (once)",
    seed: 2_001_630,
  },
  {
    name: "a join that was held up undoes the one that was sent after it (once)",
    seed: 3_012_664,
  },
  {
    name: "a home does not tell the hub of the client that it published an error (once)",
    seed: 5_000_791,
  },
  {
    name: "a home forgets a request of which a hub between says that its client left (once)",
    seed: 7_036_290,
  },
  {
    name: "a home that stops tells an end that the hub of the client will tell (once)",
    seed: 8_016_111,
  },
  {
    name: "the hub of a client keeps its connection after the home found that it reads nothing (once)",
    seed: 7_100_055,
  },
  {
    name: "a tunnel that its agent never read stands for what the agent says on the next one (once)",
    seed: 10_001_631,
  },
  { name: "a long form fails with a tunnel that its agent never read (once)", seed: 13_034_251 },
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

  test.each(planted)("notices in seed $seed that $name", async ({ name, seed, only = [] }) => {
    const options = ["--mutations", name, ...only];
    const { stdout, exitCode } = await simulate("1", String(seed), ...options);
    expect(stdout).toContain("1 of 1 found");
    expect(exitCode).toBe(0);
  });
});

function simulate(histories: string, seed: string, ...options: string[]) {
  const args = [run, "--histories", histories, "--seed", seed, ...options];
  return runCommand(process.execPath, [...flags, ...args], 120_000);
}

function digestsOf(output: string): string[] {
  return (output.match(/^seed \d+: [0-9a-f]{8}$/gm) ?? []).toSorted();
}
