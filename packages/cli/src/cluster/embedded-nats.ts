import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { CommandError } from "../exit-code.ts";
import type { NatsBinary } from "./nats-binary.ts";

/** A nats-server of this process alone, for hubs on one machine. */
export interface EmbeddedNats {
  /** with user and password: for the environment of a child process, not for its arguments */
  url: string;
  close(): Promise<void>;
}

export interface EmbeddedNatsOptions {
  binary: NatsBinary;
  /** Its configuration, log and data; made unless it exists. One server at a time uses it. */
  folder: string;
  onWarning: (message: string) => void;
}

const startTimeoutMs = 10_000;
const stopTimeoutMs = 5_000;
const longestRestartMs = 5_000;

/**
 * Starts nats-server on a loopback port that the system chooses, with credentials of this run, and restarts it on the same
 * port when it ends. It ends with this process, also when that is killed.
 *
 * @throws CommandError when it does not start
 */
export async function startEmbeddedNats(options: EmbeddedNatsOptions): Promise<EmbeddedNats> {
  const { folder, binary, onWarning } = options;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const password = randomBytes(24).toString("base64url");
  const closing = new AbortController();
  let running = await start(binary, folder, password, 0);
  const { port } = running;

  const keepRunning = async () => {
    for (let failures = 0; ; failures++) {
      const startedMs = performance.now();
      await running.exited;
      if (closing.signal.aborted) return;
      onWarning(`nats-server has ended: it is started again. Its log is ${logPath(folder)}.`);
      if (performance.now() - startedMs > longestRestartMs) failures = 0;
      await pause(Math.min(longestRestartMs, failures * 250), closing.signal);
      if (closing.signal.aborted) return;
      try {
        running = await start(binary, folder, password, port);
        if (closing.signal.aborted) return await stop(running);
      } catch (error) {
        onWarning(error instanceof Error ? error.message : String(error));
      }
    }
  };
  const kept = keepRunning();

  return {
    url: `nats://${user}:${password}@127.0.0.1:${port}`,
    async close() {
      closing.abort();
      await stop(running);
      await kept;
    },
  };
}

const user = "roomhub";

interface RunningServer {
  child: ChildProcess;
  port: number;
  exited: Promise<void>;
}

/** @param port - 0 for one that is free */
async function start(
  binary: NatsBinary,
  folder: string,
  password: string,
  port: number,
): Promise<RunningServer> {
  await removePortFiles(folder);
  const configPath = join(folder, "nats.conf");
  await rm(configPath, { force: true });
  const text = configuration(folder, password, port, binary.version);
  await writeFile(configPath, text, { flag: "wx", mode: 0o600 });
  const child = spawnWithParent(binary.path, ["-c", configPath]);
  let complaint = "";
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
    complaint = (complaint + chunk).slice(-2_000);
  });
  const ended = new AbortController();
  const exited = new Promise<void>((resolve) => {
    const end = () => {
      // Its watcher waits for the end of this process otherwise.
      child.stdin?.destroy();
      ended.abort();
      resolve();
    };
    child.once("exit", end);
    child.once("error", (error) => {
      complaint = error.message;
      end();
    });
  });
  const server = { child, exited };
  const found = await readPort(folder, ended.signal);
  if (found !== undefined) return { ...server, port: found };
  await stop(server);
  throw new CommandError(
    `nats-server does not start: ${complaint.trim() || (await lastFailure(folder))}`,
    `Its log: ${logPath(folder)}. Or pass --nats URL of a running one.`,
  );
}

/**
 * On Linux and macOS the shell becomes the program, and leaves a watcher that ends the program when its standard input
 * ends: that is when this process does, however it ends. Windows has no such shell; there a killed parent leaves it behind.
 */
function spawnWithParent(path: string, args: readonly string[]): ChildProcess {
  const stdio = ["pipe", "ignore", "pipe"] as const;
  if (process.platform === "win32") return spawn(path, args, { stdio: [...stdio] });
  // A shell gives what runs in the background no standard input: hence the copy.
  const script = `exec 3<&0
{ cat <&3 >/dev/null 2>&1; kill $$ 2>/dev/null; } &
exec "$@" </dev/null 3<&-`;
  return spawn("/bin/sh", ["-c", script, "nats-server", path, ...args], {
    stdio: [...stdio],
    // Ctrl+C is for this process: hubs that end in order need the server to the last.
    detached: true,
  });
}

async function stop({ child, exited }: Pick<RunningServer, "child" | "exited">): Promise<void> {
  child.kill("SIGTERM");
  const stopped = new AbortController();
  const late = pause(stopTimeoutMs, stopped.signal).then(() => {
    if (!stopped.signal.aborted) child.kill("SIGKILL");
  });
  await exited;
  stopped.abort();
  await late;
}

function configuration(
  folder: string,
  password: string,
  port: number,
  [major, minor]: readonly [number, number],
): string {
  // Older ones sync every 2 min, which cannot be set: they keep what they acknowledged unless the machine loses power.
  const sync = major > 2 || minor >= 10 ? "  sync_interval: always\n" : "";
  const quoted = (text: string) => JSON.stringify(text);
  return `# Written at each start.
listen: "127.0.0.1:${port === 0 ? -1 : port}"
server_name: roomhub
ports_file_dir: ${quoted(folder)}
log_file: ${quoted(logPath(folder))}
logfile_size_limit: 1MB
authorization { user: ${user}, password: ${quoted(password)} }
jetstream {
  store_dir: ${quoted(join(folder, "data"))}
${sync}}
`;
}

function logPath(folder: string): string {
  return join(folder, "nats-server.log");
}

/** `[pid] date time [FTL] reason`: what it says before it gives up. */
async function lastFailure(folder: string): Promise<string> {
  const log = await readFile(logPath(folder), "utf8").catch(() => "");
  return log.match(/(?<=\[FTL\] ).*/g)?.at(-1) ?? "it ended without a word";
}

const isPortFile = (name: string) => /^nats-server(\.exe)?_\d+\.ports$/.test(name);

/** What a killed server left there. */
async function removePortFiles(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter(isPortFile);
  await Promise.all(names.map((name) => rm(join(folder, name), { force: true })));
}

/**
 * The server writes `{"nats": ["nats://127.0.0.1:PORT"], …}` once it listens.
 *
 * @param ended - the server has ended: it will not
 */
async function readPort(folder: string, ended: AbortSignal): Promise<number | undefined> {
  const giveUpMs = performance.now() + startTimeoutMs;
  while (performance.now() < giveUpMs && !ended.aborted) {
    const name = (await readdir(folder)).find(isPortFile);
    const text = name === undefined ? "" : await readFile(join(folder, name), "utf8");
    const match = /"nats:\/\/127\.0\.0\.1:(\d+)"/.exec(text);
    if (match !== null) return Number(match[1]);
    await pause(20, ended);
  }
  return undefined;
}

/** Ends early, without an error, on the signal. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => {});
}
