import { pause, systemWorld } from "@roomhub/protocol";
import { execFile } from "node:child_process";
import { mkdir, readdir, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname } from "node:path";
import { isSea } from "node:sea";
import { fileURLToPath } from "node:url";
import { replaceFile } from "@roomhub/hub";
import type { Ran, ServiceHost } from "./service-unit.ts";

/** The services of the user that runs this process. */
export const thisMachine: ServiceHost = {
  platform: process.platform,
  homeFolder: homedir(),
  currentFolder: process.cwd(),
  userId: process.getuid?.() ?? 0,
  program: thisProgram(),
  writeFile: async (path, content, isPrivate) => {
    await mkdir(dirname(path), { recursive: true, ...(isPrivate ? { mode: 0o700 } : {}) });
    const temporaryPath = `${path}.${systemWorld.randomUUID()}.tmp`;
    await replaceFile(path, content, { mode: isPrivate ? 0o600 : 0o644, temporaryPath });
  },
  removeFile: (path) => rm(path, { force: true }),
  listFolder: async (path) => {
    try {
      return await readdir(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw error;
    }
  },
  run,
  wait: (ms) => pause(systemWorld, ms),
};

/** In a checkout the sources run behind the launcher, which finds the flags they need. */
function thisProgram(): [string, ...string[]] {
  const [node, script] = [process.execPath, process.argv[1] ?? ""];
  if (isSea()) return [node];
  if (!import.meta.url.endsWith(".ts")) return [node, script];
  return [node, fileURLToPath(new URL("../../bin/roomhub.js", import.meta.url))];
}

function run(command: string, args: readonly string[]): Promise<Ran> {
  return new Promise((resolve) => {
    execFile(command, args, { timeout: 120_000, windowsHide: true }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : undefined;
      // A program that was stopped by a signal is there, and failed.
      resolve({ code: code ?? (error?.signal === null ? undefined : 1), stdout, stderr });
    });
  });
}
