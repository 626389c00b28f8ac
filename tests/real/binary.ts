import { accessSync, constants } from "node:fs";
import { describe } from "vitest";

/** The llama-server to test with. */
export const llamaServerPath = process.env["LLAMA_SERVER"] ?? "";

/** Why nothing is tested; undefined when a server is there. */
export const whyNot =
  llamaServerPath === ""
    ? "LLAMA_SERVER is not set"
    : isProgram(llamaServerPath)
      ? undefined
      : `LLAMA_SERVER=${llamaServerPath} is no program`;

/** Tests of behaviour beside a real llama-server; listed as skipped where there is none. */
export const describeReal = describe.skipIf(whyNot !== undefined);

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
