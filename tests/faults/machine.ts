import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { hasNamespaces } from "../support/programs/network-namespaces.ts";
import type { Need } from "./scenario.ts";

const checks: Record<Need, () => boolean> = {
  root: () => process.getuid?.() === 0,
  proc: () => existsSync("/proc/self/status"),
  ip: () => hasCommand("ip"),
  namespaces: () => hasNamespaces,
  // A container may have the program and not the right.
  iptables: () => spawnSync("iptables", ["-n", "-L", "INPUT"]).status === 0,
  "nats-server": () => hasCommand("nats-server"),
  haproxy: () => hasCommand("haproxy"),
  tc: () => hasCommand("tc"),
  faketime: () => faketimeLibrary() !== undefined,
};

/** Whether this machine has what a scenario needs. */
export function isThere(need: Need): boolean {
  return checks[need]();
}

/** Where libfaketime's variant for threads is, as Debian and Fedora place it. */
export function faketimeLibrary(): string | undefined {
  const name = "faketime/libfaketimeMT.so.1";
  return ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"]
    .map((folder) => `${folder}/${name}`)
    .find((path) => existsSync(path));
}

function hasCommand(name: string): boolean {
  return spawnSync("sh", ["-c", `command -v ${name}`]).status === 0;
}
