import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder of one test's own, removed with everything in it. */
export async function temporaryFolder(): Promise<AsyncDisposable & { path: string }> {
  const path = await mkdtemp(join(tmpdir(), "roomhub-system-"));
  // A program that was ended may have a child that still writes.
  const patiently = { recursive: true, force: true, maxRetries: 10, retryDelay: 100 };
  return { path, [Symbol.asyncDispose]: () => rm(path, patiently) };
}
