import { accessSync, constants } from "node:fs";
import { describe } from "vitest";

/** A model server to test with. */
interface RealServer {
  readonly variable: string;
  readonly path: string;
  /** Why nothing is tested with it; undefined when it is there. */
  readonly whyNot: string | undefined;
}

export const llama = realServer("LLAMA_SERVER");
export const whisper = realServer("WHISPER_SERVER");

/** Tests of behaviour beside a real llama-server; listed as skipped where there is none. */
export const describeReal = describe.skipIf(llama.whyNot !== undefined);

/** The same beside whisper.cpp's server. */
export const describeWhisper = describe.skipIf(whisper.whyNot !== undefined);

function realServer(variable: string): RealServer {
  const path = process.env[variable] ?? "";
  const problem = isProgram(path) ? undefined : `${variable}=${path} is no program`;
  return { variable, path, whyNot: path === "" ? `${variable} is not set` : problem };
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
