import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** A machine so slow that it takes longer has other problems. */
const maxBuildMs = 60_000;

const workspace = fileURLToPath(new URL("../../../../", import.meta.url));
const script = join(workspace, "scripts", "bundle", "build.ts");
const bundler = join(workspace, "node_modules", "rolldown");

/** Whether this is a checkout with its development dependencies. */
export function canBuild(): boolean {
  return import.meta.url.endsWith(".ts") && existsSync(script) && existsSync(bundler);
}

/** Builds the package from the sources of a checkout. @throws Error with what the build wrote */
export async function buildPackage(): Promise<Uint8Array> {
  const folder = await mkdtemp(join(tmpdir(), "roomhub-handout-"));
  try {
    // A process of its own: what a build loads would stay in the memory of a hub.
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ["--conditions=@roomhub/source", script, folder],
      { cwd: workspace, timeout: maxBuildMs },
    );
    const { file } = JSON.parse(stdout) as { file: string };
    return await readFile(file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
