import type { Check } from "./check.ts";
import { failed, ok } from "./finding.ts";

/** The versions of Node and of this program. */
export const programCheck: Check = {
  name: "program",
  waitsFor: "nothing",
  timeoutMs: 1_000,
  run({ context, machine }) {
    const { nodeVersion, neededNode } = machine;
    if (isAtLeast(nodeVersion, neededNode)) {
      return ok(`Node ${nodeVersion}, roomhub ${context.version}`);
    }
    return failed(
      `roomhub ${context.version} requires Node ${neededNode} or newer; this is Node ${nodeVersion}`,
      "install one: https://nodejs.org",
    );
  },
};

function isAtLeast(version: string, needed: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [neededMajor = 0, neededMinor = 0] = needed.split(".").map(Number);
  return major > neededMajor || (major === neededMajor && minor >= neededMinor);
}
