import { spawn } from "node:child_process";

/** A hub of several in processes of their own. */
export interface WorkerProcess {
  /** @returns how it ended: its exit code, or 1 after a signal */
  exited: Promise<number>;
  /** Lets it stop in order. */
  stop(): void;
}

export type StartWorker = (env: Readonly<Record<string, string>>) => WorkerProcess;

/** The same command once more, with the same arguments but for the number of workers. */
export const startWorker: StartWorker = (env) => {
  const [, program = ""] = process.argv;
  // An executable is its own program.
  const own = program === process.execPath ? [] : [program];
  const args = [...process.execArgv, ...own, ...withoutWorkers(process.argv.slice(2))];
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...env },
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    // Ctrl+C is for the supervisor, which lets its workers stop.
    detached: true,
  });
  const exited = new Promise<number>((resolve) => {
    child.once("error", () => resolve(1));
    child.once("exit", (code) => resolve(code ?? 1));
  });
  return { exited, stop: () => void child.kill("SIGTERM") };
};

/** A worker stops when its supervisor is dead, however that ended. */
export function stopWithSupervisor(): void {
  process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
  // What only waits for the end of the supervisor keeps no program running.
  process.channel?.unref();
}

/** `--workers 4` and `--workers=4` are the supervisor's. */
export function withoutWorkers(args: readonly string[]): string[] {
  return args.filter((arg, index) => {
    return arg !== "--workers" && args[index - 1] !== "--workers" && !arg.startsWith("--workers=");
  });
}
