import { type ChildProcess, spawn } from "node:child_process";
import { link, open, rename, symlink } from "node:fs/promises";
import { constants } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { runCommand } from "../support/programs/run-command.ts";
import { temporaryFolder } from "../support/programs/temporary-folder.ts";
import { until, within } from "../support/waiting.ts";
import { llamaServerPath } from "./binary.ts";
import { writeTinyModel } from "./tiny-model.ts";

export interface LlamaServerOptions {
  /** Where it listens; a free one by default. */
  port?: number | undefined;
  /** The name of its model; `undefined` leaves it without one: it takes the name of its file. */
  alias?: string | undefined;
  /** the file's name */
  file?: string | undefined;
  apiKey?: string | undefined;
  /** How many requests at once. */
  slots?: number | undefined;
  /** It stays in the middle of loading until `load()`. */
  isHeld?: boolean | undefined;
  /** Two models, `one` and `two`, none of them loaded. */
  isRouter?: boolean | undefined;
}

export interface Slot {
  id: number;
  is_processing: boolean;
}

export function isBusy(slots: readonly Slot[]): boolean {
  return slots.some(({ is_processing }) => is_processing);
}

/** A real llama-server as a process of its own. */
export interface LlamaServer extends AsyncDisposable {
  readonly port: number;
  /** its base URL, as a participant's endpoint */
  readonly url: string;
  /** everything it wrote so far */
  readonly output: string;
  /** Lets a held one load its model, and waits until it has. */
  load(): Promise<void>;
  slots(): Promise<Slot[]>;
  get(path: string): Promise<Response>;
  signal(name: "SIGSTOP" | "SIGCONT"): void;
  /** Resolves when it has ended. */
  kill(name?: "SIGTERM" | "SIGKILL"): Promise<void>;
}

/** Resolves when its model is loaded, or when it reports that it is loading, for a held one. */
export async function startLlamaServer(options: LlamaServerOptions = {}): Promise<LlamaServer> {
  const folder = await temporaryFolder();
  const port = options.port ?? (await freePort());
  const modelArguments =
    options.isRouter === true
      ? await prepareRouter(folder.path)
      : await prepareModel(folder.path, options);
  // One thread: with more, on a machine that has other work, they wait for each other.
  const child = spawn(
    llamaServerPath,
    [
      ...["--host", "127.0.0.1", "--port", String(port), "--offline", "--no-ui"],
      ...["--threads", "1", "--threads-batch", "1", "--parallel", String(options.slots ?? 2)],
      ...modelArguments,
      ...(options.alias === undefined ? [] : ["--alias", options.alias]),
      ...(options.apiKey === undefined ? [] : ["--api-key", options.apiKey]),
    ],
    // A group of its own: a router has children.
    { stdio: ["ignore", "pipe", "pipe"], detached: true },
  );
  let output = "";
  let hasEnded = false;
  const send = (name: NodeJS.Signals) => {
    if (!hasEnded && child.pid !== undefined) process.kill(-child.pid, name);
  };
  const guard = guardGroup(child.pid);
  const exited = new Promise<void>((resolve) => {
    child.on("close", () => {
      hasEnded = true;
      guard.kill("SIGKILL");
      resolve();
    });
  });
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  const url = `http://127.0.0.1:${port}/v1`;
  const get = (path: string) => fetch(`http://127.0.0.1:${port}${path}`);
  const saysHealth = (status: number) =>
    until(
      `llama-server to answer ${status}:\n${output}`,
      () =>
        hasEnded ? Promise.reject(new Error(`llama-server ended:\n${output}`)) : statusOf(get),
      (found) => found === status,
      30_000,
    );
  const server: LlamaServer = {
    port,
    url,
    get output() {
      return output;
    },
    async load() {
      await releaseModel(folder.path, options);
      await saysHealth(200);
    },
    async slots() {
      return (await (await get("/slots")).json()) as Slot[];
    },
    get,
    signal: send,
    async kill(name = "SIGKILL") {
      send(name);
      // A stopped process takes no other signal than this one and SIGKILL.
      if (name !== "SIGKILL") send("SIGCONT");
      await within(exited, "the end of llama-server");
    },
    async [Symbol.asyncDispose]() {
      await server.kill();
      await folder[Symbol.asyncDispose]();
    },
  };
  try {
    await saysHealth(options.isHeld === true ? 503 : 200);
    return server;
  } catch (error) {
    await server[Symbol.asyncDispose]();
    throw error;
  }
}

/**
 * Ends the process group when this process ends, in whatever way: a test that runs out of time disposes of nothing, and its
 * worker is killed.
 */
function guardGroup(pid: number | undefined): ChildProcess {
  return spawn("sh", ["-c", `cat > /dev/null; kill -9 -${pid}`], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
}

const nameOfFile = ({ file = "tiny.gguf" }: LlamaServerOptions) => file;

/** @returns the arguments that name the model */
async function prepareModel(folder: string, options: LlamaServerOptions): Promise<string[]> {
  const path = join(folder, nameOfFile(options));
  if (options.isHeld !== true) {
    await placeModel(path);
    return ["--model", path];
  }
  // It looks at the model's size before it loads it, and waits for a pipe that has no writer: as long as it is to.
  const gate = join(folder, "gate");
  const made = await runCommand("mkfifo", [gate]);
  if (made.exitCode !== 0) throw new Error(`mkfifo failed: ${made.stderr}`);
  await link(gate, path);
  return ["--model", path];
}

async function releaseModel(folder: string, options: LlamaServerOptions): Promise<void> {
  const next = join(folder, "next.gguf");
  await placeModel(next);
  await rename(next, join(folder, nameOfFile(options)));
  // Opened and closed: an empty file, whose size it does without. What it loads then is the model.
  const gate = await open(join(folder, "gate"), constants.O_WRONLY | constants.O_NONBLOCK);
  await gate.close();
}

async function prepareRouter(folder: string): Promise<string[]> {
  await Promise.all(["one", "two"].map((name) => placeModel(join(folder, `${name}.gguf`))));
  return ["--models-dir", folder];
}

async function placeModel(path: string): Promise<void> {
  const own = process.env["LLAMA_MODEL"];
  if (own === undefined || own === "") await writeTinyModel(path);
  else await symlink(own, path);
}

async function statusOf(get: LlamaServer["get"]): Promise<number | undefined> {
  try {
    return (await get("/health")).status;
  } catch {
    // Not listening yet.
    return undefined;
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}
