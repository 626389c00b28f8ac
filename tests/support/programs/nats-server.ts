import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { until, within } from "../waiting.ts";
import { temporaryFolder } from "./temporary-folder.ts";

export const hasNatsServer = spawnSync("nats-server", ["--version"]).status === 0;

/** For the title of what is skipped without it. */
export const natsSkipped = hasNatsServer ? "" : " (skipped: nats-server is not installed)";

/** A nats-server with JetStream on a loopback port of its own, its files in a folder of its own. */
export interface NatsServer extends AsyncDisposable {
  url: string;
  port: number;
  readonly pid: number;
  /** Kills it as a power cut of the process would. */
  kill(): Promise<void>;
  /** Starts it again, on the same port, with the same files. */
  restart(): Promise<void>;
  /** It stands still, and its connections with it. */
  pause(): void;
  resume(): void;
}

/** @param args - further arguments */
export async function startNatsServer(args: readonly string[] = []): Promise<NatsServer> {
  const folder = await temporaryFolder();
  let child: ChildProcess;
  let exited: Promise<unknown> = Promise.resolve();
  async function start(port: number): Promise<number> {
    const fixed = ["-a", "127.0.0.1", "-p", String(port), "-js", "-sd", join(folder.path, "data")];
    const own = spawn("nats-server", [...fixed, "--ports_file_dir", folder.path, ...args], {
      stdio: "ignore",
    });
    child = own;
    exited = new Promise((resolve) => own.once("close", resolve));
    const ports = join(folder.path, `nats-server_${own.pid}.ports`);
    const text = await until(
      "the ports of nats-server",
      () => readFile(ports, "utf8").catch(() => ""),
      (content) => content.trim().endsWith("}"),
    );
    const [url = ""] = (JSON.parse(text) as { nats: string[] }).nats;
    return Number(new URL(url).port);
  }
  const end = async () => {
    child.kill("SIGKILL");
    await within(exited, "the end of nats-server");
  };
  const port = await start(-1);
  return {
    url: `nats://127.0.0.1:${port}`,
    port,
    get pid() {
      return child.pid ?? 0;
    },
    kill: end,
    restart: async () => void (await start(port)),
    pause: () => void child.kill("SIGSTOP"),
    resume: () => void child.kill("SIGCONT"),
    async [Symbol.asyncDispose]() {
      await end();
      await folder[Symbol.asyncDispose]();
    },
  };
}
