import { execFile } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { packSdk } from "./package-contents.ts";

/** A machine so slow that it takes longer has other problems. */
const maxBuildMs = 60_000;

const workspace = fileURLToPath(new URL("../../../../", import.meta.url));
const script = join(workspace, "scripts", "bundle", "build.ts");
const bundler = join(workspace, "node_modules", "rolldown");

/** Whether this is a checkout with its development dependencies. */
export function canBuild(): boolean {
  return import.meta.url.endsWith(".ts") && existsSync(script) && existsSync(bundler);
}

interface Built {
  program: Uint8Array;
  sdk: Uint8Array;
}

/** Builds the package from the sources of a checkout, and with it the SDK's. @throws Error with what the build wrote */
export async function buildPackage(): Promise<Built> {
  const folder = await mkdtemp(join(tmpdir(), "roomhub-handout-"));
  let stopBuild = (): unknown => undefined;
  // A hub that is stopped soon after its start leaves no process and no files behind.
  const onExit = () => {
    stopBuild();
    rmSync(folder, { recursive: true, force: true });
  };
  process.once("exit", onExit);
  try {
    // A process of its own: what a build loads would stay in the memory of a hub.
    const build = promisify(execFile)(
      process.execPath,
      ["--conditions=@roomhub/source", script, folder],
      { cwd: workspace, timeout: maxBuildMs },
    );
    stopBuild = () => build.child.kill("SIGKILL");
    const { file } = JSON.parse((await build).stdout) as { file: string };
    return { program: await readFile(file), sdk: await packSdk(join(folder, "roomhub")) };
  } finally {
    process.off("exit", onExit);
    await rm(folder, { recursive: true, force: true });
  }
}
