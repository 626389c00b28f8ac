import type { Handout } from "@roomhub/hub";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { loadPageFiles } from "../monitor/page-files.ts";
import { buildPackage, canBuild } from "./build-package.ts";
import { contentsPath, repackPackage } from "./package-contents.ts";

/** What a hub in this process hands out; undefined where there is neither a published package nor a checkout. */
export type CreateHandout = () => Promise<Handout | undefined>;

// The package's folder, from `src/handout` and from the bundle.
const packageFolder = fileURLToPath(new URL("../../", import.meta.url));

export const createHandout: CreateHandout = async () => {
  const program = existsSync(contentsPath(packageFolder))
    ? () => repackPackage(packageFolder)
    : canBuild()
      ? buildPackage
      : undefined;
  return program && { program, monitor: loadPageFiles };
};
