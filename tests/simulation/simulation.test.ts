import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { runCommand } from "../support/programs/run-command.ts";
import { blindMutations } from "./blind-mutations.ts";
import { mutations } from "./mutations.ts";

const run = fileURLToPath(new URL("run.ts", import.meta.url));

/** Far more than it takes: 15 s on two cores. */
const longestMs = 120_000;

test(
  "the simulation finds nothing that does not hold in 300 short histories",
  async () => {
    const flags = ["--conditions=@roomhub/source", "--disable-warning=ExperimentalWarning"];
    const options = ["--histories", "300", "--short", "--quiet"];
    const { stdout, exitCode } = await runCommand(
      process.execPath,
      [...flags, run, ...options],
      longestMs,
    );
    expect(stdout).toMatch(/^300 histories, .*: 0 failed, /);
    expect(exitCode).toBe(0);
  },
  longestMs,
);

test.each([...mutations, ...blindMutations])(
  "the place of a defect is in its file once: $name",
  ({ file, before }) => {
    const text = readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");
    expect(text.split(before)).toHaveLength(2);
  },
);
