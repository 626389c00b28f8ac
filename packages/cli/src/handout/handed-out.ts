import type { CliContext } from "../context.ts";

/** Whether the hub hands out this file, such as `roomhub.tgz`. A hub that cannot be reached, or has to build it, does not. */
export async function isHandedOut(
  { fetch }: CliContext,
  hubUrl: string,
  file: string,
): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(maxWaitMs);
    return (await fetch(`${hubUrl}/${file}`, { method: "HEAD", signal })).ok;
  } catch {
    // What could be offered is left out; the command itself goes on.
    return false;
  }
}

const maxWaitMs = 3_000;
