import { execFile } from "node:child_process";
import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { CommandError } from "../exit-code.ts";

export interface NatsBinary {
  path: string;
  /** `[2, 9]` of 2.9.10 */
  version: readonly [number, number];
}

/** Debian installs it where only root's PATH leads. */
const furtherFolders = ["/usr/local/sbin", "/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin"];

/**
 * @param path - of the environment
 * @throws CommandError when it is not installed, or older than 2.9
 */
export async function findNatsServer(path: string | undefined): Promise<NatsBinary> {
  const name = process.platform === "win32" ? "nats-server.exe" : "nats-server";
  const folders = [...(path ?? "").split(delimiter).filter((folder) => folder !== "")];
  for (const folder of [...folders, ...furtherFolders]) {
    const candidate = join(folder, name);
    if (!(await isExecutable(candidate))) continue;
    const version = await versionOf(candidate);
    const [major, minor] = version;
    if (major > 2 || (major === 2 && minor >= 9)) return { path: candidate, version };
    throw new CommandError(
      `${candidate} is version ${major}.${minor}. A cluster needs 2.9 or newer.`,
      "Install a newer nats-server, or pass --nats URL of a running one.",
    );
  }
  throw new CommandError(
    "nats-server is not installed. Several hubs on one machine need it to find each other.",
    "Install it (apt install nats-server, brew install nats-server), or pass --nats URL of a running one.",
  );
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Its output: `nats-server: v2.9.10`. */
async function versionOf(path: string): Promise<readonly [number, number]> {
  const { stdout } = await promisify(execFile)(path, ["--version"], { timeout: 10_000 });
  const match = /v(\d+)\.(\d+)\./.exec(stdout);
  return [Number(match?.[1] ?? 0), Number(match?.[2] ?? 0)];
}
