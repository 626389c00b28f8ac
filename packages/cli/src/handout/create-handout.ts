import type { Handout } from "@roomhub/hub";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { loadPageFiles } from "../monitor/page-files.ts";
import { buildPackage, canBuild } from "./build-package.ts";
import { contentsPath, packSdk, repackPackage } from "./package-contents.ts";

/** What a hub in this process hands out; undefined where there is neither a published package nor a checkout. */
export type CreateHandout = () => Promise<Handout | undefined>;

// The package's folder, from `src/handout` and from the bundle.
const packageFolder = fileURLToPath(new URL("../../", import.meta.url));

export const createHandout: CreateHandout = async () => {
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
};
