import fs from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import {
  lockStateFile,
  type FileLock,
  StateFileLockedError,
} from "../../../packages/hub/src/storage/file-lock.ts";
import { sharedNowMs } from "../shared-clock.ts";
import { serveHarness } from "./rpc.ts";

interface Taking {
  path: string;
  /** on the shared clock: all processes begin within microseconds */
  atMs: number;
}

export type TakingEnd =
  | { kind: "won" }
  | { kind: "lost"; pid: number }
  | { kind: "failed"; reason: string };

export type ContenderHandlers = {
  take(taking: Taking): Promise<TakingEnd>;
  release(): Promise<void>;
  /** From now on the process kills itself instead of making this call. */
  dieAt(call: DeadlyCall): void;
};

export type DeadlyCall = "link" | "rename" | "readdir" | "unlink";

let held: FileLock | undefined;

const handlers: ContenderHandlers = {
  async take({ path, atMs }) {
    while (sharedNowMs() < atMs);
    try {
      held = await lockStateFile(path);
      return { kind: "won" };
    } catch (error) {
      if (error instanceof StateFileLockedError) return { kind: "lost", pid: error.pid };
      return { kind: "failed", reason: String(error) };
    }
  },
  async release() {
    await held?.release();
    held = undefined;
  },
  dieAt(call) {
    const die = () => process.kill(process.pid, "SIGKILL");
    Object.assign(fs, { [call]: () => new Promise(die) });
    syncBuiltinESMExports();
  },
};

serveHarness(handlers);
