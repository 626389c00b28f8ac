import type { ChildProcess } from "node:child_process";
import { accessSync, constants as fsConstants, mkdtempSync, readdirSync } from "node:fs";
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import spawn from "cross-spawn";

const prefix = "roomhub-launch-";
/** Holds the process id of the program, which may outlive this process. */
const runningFile = ".running";

/** What a launch needs of this machine. */
export const programHost = { currentFolder: process.cwd(), has, read, createFolder, run };
export type ProgramHost = typeof programHost;
export type LaunchFolder = ReturnType<typeof createFolder>;

/** Whether the shell would find a program of this name. */
function has(command: string): boolean {
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  const ends =
    process.platform === "win32" ? (process.env["PATHEXT"] ?? ".EXE;.CMD").split(";") : [""];
  return folders.some((folder) => ends.some((end) => isProgram(join(folder, command + end))));
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, fsConstants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** The text of a file; undefined when there is none. */
function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** A folder of this launch that only this user can read. Removes those of launches that were killed. */
function createFolder() {
  removeLeftOvers();
  const path = mkdtempSync(join(tmpdir(), `${prefix}${process.pid}-`));
  return {
    path,
    write: (name: string, text: string) => writeFileSync(join(path, name), text, { mode: 0o600 }),
    remove: () => rmSync(path, { recursive: true, force: true }),
  };
}

/** Of other users' folders none is touched: they cannot be read, nor removed. */
function removeLeftOvers(): void {
  for (const name of readdirSync(tmpdir())) {
    const pid = Number(/^roomhub-launch-(\d+)-/.exec(name)?.[1] ?? 0);
    const path = join(tmpdir(), name);
    try {
      if (pid === 0 || statSync(path).uid !== (process.getuid?.() ?? 0)) continue;
      const ofProgram = Number(read(join(path, runningFile)) ?? 0);
      if (!isAlive(pid) && !isAlive(ofProgram)) rmSync(path, { recursive: true, force: true });
    } catch {
      // Another launch has just removed it.
    }
  }
}

function isAlive(pid: number): boolean {
  if (pid === 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/**
 * Runs a program in this terminal. Ctrl+C reaches it from the terminal; where there is none, and for other signals, it gets
 * those of this process.
 *
 * @param folder - the program's temporary files, which must stay if the program outlives this process
 * @returns its exit code; of a program that a signal ended, 128 and the signal's number, as shells do
 */
function run(
  command: string,
  args: readonly string[],
  { env, folder }: { env: Record<string, string | undefined>; folder: LaunchFolder | undefined },
): Promise<number> {
  const child = spawn(command, [...args], { stdio: "inherit", env });
  if (child.pid !== undefined) folder?.write(runningFile, String(child.pid));
  const release = passSignalsOn(child);
  return new Promise<number>((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", (code, signal) =>
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])),
    );
  }).finally(release);
}

function passSignalsOn(child: ChildProcess): () => void {
  const hasTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  const listener = (signal: NodeJS.Signals) => {
    // A terminal sends SIGINT and SIGHUP to all processes in its foreground group, so the program has them already.
    if (signal === "SIGTERM" || !hasTerminal) child.kill(signal);
  };
  for (const signal of signals) process.on(signal, listener);
  return () => {
    for (const signal of signals) process.off(signal, listener);
  };
}
