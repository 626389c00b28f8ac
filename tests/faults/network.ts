import { spawnSync } from "node:child_process";
import type { Children } from "./child.ts";

/** A network namespace with one cable to this machine. */
export interface Namespace {
  /** runs a program in it */
  readonly prefix: readonly string[];
  /** this machine, seen from inside */
  readonly hostAddress: string;
  /** a command in it, such as `iptables …` */
  run(command: string): void;
  /** a command on this side; `DEVICE` stands for this end of the cable */
  runOutside(command: string): void;
  remove(): void;
}

/** Needs root. Removed with the harness, however that ends. */
export function createNamespace(children: Children): Namespace {
  const name = `rhf${process.pid}`;
  const [outside, inside] = [`${name}a`, `${name}b`];
  const undo = `ip netns del ${name}; ip link del ${outside} 2>/dev/null`;
  // A range set aside for tests of network devices: not anyone's home network.
  const [hostAddress, address] = ["198.18.77.1", "198.18.77.2"];
  children.undoOnCrash(undo);
  const prefix = ["ip", "netns", "exec", name];
  const run = (command: string) => must(`${prefix.join(" ")} ${command}`);
  must(`ip netns add ${name}`);
  must(`ip link add ${outside} type veth peer name ${inside} netns ${name}`);
  must(`ip addr add ${hostAddress}/30 dev ${outside}`);
  must(`ip link set ${outside} up`);
  run(`ip addr add ${address}/30 dev ${inside}`);
  run(`ip link set ${inside} up`);
  run("ip link set lo up");
  return {
    prefix,
    hostAddress,
    run,
    runOutside: (command) => must(command.replaceAll("DEVICE", outside)),
    remove() {
      spawnSync("sh", ["-c", undo]);
      children.forgetUndo(undo);
    },
  };
}

function must(command: string): void {
  const { status, stderr } = spawnSync("sh", ["-c", command], { encoding: "utf8" });
  if (status !== 0) throw new Error(`${command}: ${stderr.trim()}`);
}
