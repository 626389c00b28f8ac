import { existsSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Handout } from "@roomhub/hub";
import { loadPageFiles } from "../watch/monitor/page-files.ts";
import { contentsPath, packSdk, repackPackage } from "./pack.ts";

// The package's folder, from `src/handout` and from the bundle.
const packageFolder = fileURLToPath(new URL("../../", import.meta.url));

/** Undefined where there is neither a published package nor a checkout. */
export function createHandout(): Handout | undefined {
  if (existsSync(contentsPath(packageFolder))) {
    const program = () => repackPackage(packageFolder);
    return { program, sdk: () => packSdk(packageFolder), monitor: loadPageFiles };
  }
  if (!canBuild()) return undefined;
  let building: ReturnType<typeof buildPackage> | undefined;
  const build = () =>
    (building ??= buildPackage().catch((error: unknown) => {
      // The next request tries again.
      building = undefined;
      throw error;
    }));
  const program = async () => (await build()).program;
  return { program, sdk: async () => (await build()).sdk, monitor: loadPageFiles };
}

/** A machine so slow that it takes longer has other problems. */
const maxBuildMs = 60_000;

const workspace = fileURLToPath(new URL("../../../../", import.meta.url));
const script = join(workspace, "scripts", "bundle", "build.ts");
const bundler = join(workspace, "node_modules", "rolldown");

/** Whether this is a checkout with its development dependencies. */
function canBuild(): boolean {
  return import.meta.url.endsWith(".ts") && existsSync(script) && existsSync(bundler);
}

/** Builds the package from the sources of a checkout, and with it the SDK's. @throws Error with what the build wrote */
export async function buildPackage() {
  const folder = await mkdtemp(join(tmpdir(), "roomhub-handout-"));
  let stopBuild = (): unknown => undefined;
  // A hub that is stopped soon after its start leaves no process and no files behind.
  const onExit = () => {
    stopBuild();
    rmSync(folder, { recursive: true, force: true });
  };
  process.once("exit", onExit);
  try {
    // In another process, since what a build loads would stay in the memory of a hub.
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
