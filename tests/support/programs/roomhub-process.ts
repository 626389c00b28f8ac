import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { longestWaitMs, within } from "../waiting.ts";

const launcher = fileURLToPath(new URL("../../../packages/cli/bin/roomhub.js", import.meta.url));

/** The command as people run it, with `--json` where its output is to be read line by line. */
export interface RoomhubProcess extends AsyncDisposable {
  readonly pid: number;
  /** everything it wrote so far, both streams */
  readonly output: string;
  /** The first JSON line on stdout for which `holds`. */
  line(
    what: string,
    holds: (line: Record<string, unknown>) => boolean,
  ): Promise<Record<string, unknown>>;
  /** It stands still, and its connections with it. */
  pause(): void;
  resume(): void;
  /** Stops it and waits until it has exited. */
  kill(signal: "SIGTERM" | "SIGKILL"): Promise<void>;
}

/**
 * Any command that runs until it is stopped.
 *
 * @param format - `text` is what people read: there are no lines of JSON to wait for then
 * @param program - what is started; this checkout's launcher when left out
 */
export function startRoomhub(
  args: readonly string[],
  env: Record<string, string> = {},
  format: "json" | "text" = "json",
  program: readonly [string, ...string[]] = [process.execPath, launcher],
): RoomhubProcess {
  const [command, ...first] = program;
  // A process group of its own, so that all of it can be ended at once.
  const child = spawn(command, [...first, ...args, ...(format === "json" ? ["--json"] : [])], {
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
    env: { ...process.env, ...env },
  });
  let hasEnded = false;
  const exited = new Promise<void>((resolve) => {
    child.on("close", () => {
      hasEnded = true;
      for (const look of watchers) look();
      resolve();
    });
  });
  let output = "";
  let rest = "";
  const lines: Record<string, unknown>[] = [];
  const watchers = new Set<() => void>();
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
    const parts = (rest + text).split("\n");
    rest = parts.pop() ?? "";
    lines.push(...parts.filter((line) => line.startsWith("{")).map(parseLine));
    for (const look of watchers) look();
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });

  async function kill(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    if (!hasEnded) sendSignal(child.pid, signal);
    await within(exited, `the end of roomhub ${args[0]}`);
  }

  return {
    pid: child.pid ?? 0,
    get output() {
      return output;
    },
    line(what, holds) {
      return new Promise((resolve, reject) => {
        const settle = () => {
          clearTimeout(timer);
          watchers.delete(look);
        };
        const look = () => {
          const found = lines.find(holds);
          if (found === undefined && !hasEnded) return;
          settle();
          if (found === undefined) giveUp();
          else resolve(found);
        };
        const giveUp = () => {
          settle();
          reject(new Error(`roomhub ${args[0]} did not say ${what}:\n${output}`));
        };
        const timer = setTimeout(giveUp, longestWaitMs);
        watchers.add(look);
        look();
      });
    },
    pause: () => sendSignal(child.pid, "SIGSTOP"),
    resume: () => sendSignal(child.pid, "SIGCONT"),
    kill,
    [Symbol.asyncDispose]: () => kill("SIGKILL"),
  };
}

/**
 * To the program and not to its launcher, which reaps it and ends with the same signal: an orphan would look alive until
 * its parent has reaped it.
 */
function sendSignal(
  launcherPid: number | undefined,
  signal: "SIGTERM" | "SIGKILL" | "SIGSTOP" | "SIGCONT",
): void {
  if (launcherPid === undefined) return;
  for (const pid of childrenOf(launcherPid) ?? [-launcherPid]) {
    try {
      process.kill(pid, signal);
    } catch {
      // It ended by itself in this very moment.
    }
  }
}

/** @returns undefined when there are none yet, or this machine does not report them */
function childrenOf(pid: number): number[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
    return text === "" ? undefined : text.split(" ").map(Number);
  } catch {
    return undefined;
  }
}

function parseLine(line: string): Record<string, unknown> {
  return JSON.parse(line) as Record<string, unknown>;
}

/** A hub of its own process; resolves when it listens. */
export async function startHubProcess(
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<RoomhubProcess & { url: string; port: number }> {
  const hub = startRoomhub(["serve", ...args], env);
  try {
    const { url, port } = await hub.line("where it listens", (line) => "url" in line);
    return Object.assign(hub, { url: String(url), port: Number(port) });
  } catch (error) {
    await hub.kill("SIGKILL");
    throw error;
  }
}

/** A participant of its own process; resolves when its tunnel is up. */
export async function startParticipantProcess(
  hubUrl: string,
  code: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<RoomhubProcess> {
  const participant = startRoomhub(["join", `${hubUrl}/rooms/${code}`, ...args], env);
  try {
    await participant.line("that it is connected", ({ kind }) => kind === "connected");
    return participant;
  } catch (error) {
    await participant.kill("SIGKILL");
    throw error;
  }
}
