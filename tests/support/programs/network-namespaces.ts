import { spawnSync } from "node:child_process";
import { runCommand } from "./run-command.ts";

/** Whether this machine lets the test make networks of its own: Linux, root, and `ip`. */
export const hasNamespaces = (() => {
  const name = `roomhub-probe-${process.pid}`;
  if (spawnSync("ip", ["netns", "add", name]).status !== 0) return false;
  return spawnSync("ip", ["netns", "del", name]).status === 0;
})();

/** A machine of its own, as far as the network is concerned. */
export interface Namespace {
  readonly address: string;
  /** what runs a command in it: a program, and arguments before the command's own */
  readonly prefix: readonly string[];
  /** Kills whatever runs in it. */
  killAll(): Promise<void>;
}

/**
 * Two machines with a cable between them, and no route to anywhere else. Removed with the stack.
 */
export async function cableTwoNamespaces(
  stack: AsyncDisposableStack,
): Promise<readonly [Namespace, Namespace]> {
  const names = ["a", "b"].map((letter) => `roomhub-${process.pid}-${letter}`);
  const [a = "", b = ""] = names;
  const ends = [`rh${process.pid}a`, `rh${process.pid}b`];
  const [endOfA = "", endOfB = ""] = ends;
  for (const name of names) {
    await ip("netns", "add", name);
    stack.defer(() => ip("netns", "del", name));
  }
  await ip("link", "add", endOfA, "netns", a, "type", "veth", "peer", "name", endOfB, "netns", b);
  const namespaces = names.map((name, index) => ({
    address: `10.77.0.${index + 1}`,
    prefix: ["ip", "netns", "exec", name],
    async killAll() {
      const { stdout } = await runCommand("ip", ["netns", "pids", name]);
      for (const pid of stdout.split("\n").filter((line) => line !== "")) kill(Number(pid));
    },
  }));
  for (const [index, name] of names.entries()) {
    const end = ends[index] ?? "";
    await ip("-n", name, "addr", "add", `10.77.0.${index + 1}/24`, "dev", end);
    await ip("-n", name, "link", "set", end, "up");
    await ip("-n", name, "link", "set", "lo", "up");
  }
  const [one, other] = namespaces;
  if (one === undefined || other === undefined) throw new Error("there are two names");
  return [one, other];
}

async function ip(...args: string[]): Promise<void> {
  const { exitCode, stderr } = await runCommand("ip", args);
  if (exitCode !== 0) throw new Error(`ip ${args.join(" ")}: ${stderr}`);
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It ended by itself in this very moment.
  }
}
