import { type ChildProcess, spawn } from "node:child_process";
import { createServer } from "node:net";
import { until, within } from "../support/waiting.ts";

interface ServerProcessOptions {
  program: string;
  /** Where it listens; a free port by default. */
  port: number | undefined;
  /** its options, without host and port */
  args: readonly string[];
  /** what its `/health` responds once it can be used */
  status: number;
}

/** A real model server as a process of its own. */
export interface ServerProcess extends AsyncDisposable {
  readonly port: number;
  /** everything it wrote so far */
  readonly output: string;
  get(path: string): Promise<Response>;
  /** Resolves when its `/health` responds with this status. */
  untilHealth(status: number): Promise<void>;
  signal(name: "SIGSTOP" | "SIGCONT"): void;
  /** Resolves when it has ended. */
  kill(name?: "SIGTERM" | "SIGKILL"): Promise<void>;
}

/** A port that was free may be another program's by the time the server takes it. */
const maxAttempts = 3;

export async function startServerProcess(options: ServerProcessOptions): Promise<ServerProcess> {
  for (let attempt = 1; ; attempt += 1) {
    const server = spawnServer(options, options.port ?? (await freePort()));
    try {
      await server.untilHealth(options.status);
      return server;
    } catch (error) {
      await server[Symbol.asyncDispose]();
      const isTaken = options.port === undefined && server.output.includes("couldn't bind");
      if (!isTaken || attempt === maxAttempts) throw error;
    }
  }
}

function spawnServer({ program, args }: ServerProcessOptions, port: number): ServerProcess {
  const child = spawn(
    program,
    ["--host", "127.0.0.1", "--port", String(port), ...args],
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
  const get = (path: string) => fetch(`http://127.0.0.1:${port}${path}`);
  const kill: ServerProcess["kill"] = async (name = "SIGKILL") => {
    send(name);
    // A stopped process takes no other signal than this one and SIGKILL.
    if (name !== "SIGKILL") send("SIGCONT");
    await within(exited, `the end of ${program}`);
  };
  return {
    port,
    get output() {
      return output;
    },
    get,
    async untilHealth(status) {
      await until(
        `${program} to respond ${status}:\n${output}`,
        () =>
          hasEnded ? Promise.reject(new Error(`${program} ended:\n${output}`)) : statusOf(get),
        (found) => found === status,
        30_000,
      );
    },
    signal: send,
    kill,
    [Symbol.asyncDispose]: () => kill(),
  };
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

async function statusOf(get: ServerProcess["get"]): Promise<number | undefined> {
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
