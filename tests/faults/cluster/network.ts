import { spawnSync } from "node:child_process";
import type { Children } from "../child.ts";

/** A machine of the network: a namespace with one cable to the switch. */
export interface Machine {
  readonly name: string;
  readonly address: string;
  /** runs a program on it */
  readonly prefix: readonly string[];
}

/** Machines on one switch, in network namespaces. This process is at the switch, too: no cut is between it and a machine. */
export interface ClusterNetwork extends Disposable {
  machine(name: string): Machine;
  /** No packet passes between the two any more, either way, and neither is told. */
  cut(one: string, other: string): void;
  /** No packet passes between a machine and any other. */
  isolate(name: string): void;
  /** Breaks a machine's connections to this port of others: both ends are told, if they say anything. */
  reset(name: string, port: number): void;
  /** @returns how many packets of at least so many bytes a machine has sent to this port of others since now */
  countSent(name: string, port: number, leastBytes: number): () => number;
  /** All packets pass again. */
  heal(): void;
}

/** Longer than connections that are in use say nothing. */
const resetSeconds = 0.1;

/** Needs root. Removed with the harness, however that ends. */
export function createClusterNetwork(children: Children, names: readonly string[]): ClusterNetwork {
  const { label, subnet } = takeSubnet();
  const machines = new Map(
    names.map((name, index): [string, Machine] => {
      const prefix = ["ip", "netns", "exec", `${label}-${name}`];
      return [name, { name, address: `${subnet}.${index + 2}`, prefix }];
    }),
  );
  // Namespaces take their ends of cables along, in their own time; the label is free with the last of them.
  const spaces = [...names, "switch"].map((name) => `ip netns del ${label}-${name}`);
  const undo = [`ip link del ${label}`, ...spaces].join("; ");
  children.undoOnCrash(undo);
  const remove = () => {
    spawnSync("sh", ["-c", undo]);
    children.forgetUndo(undo);
  };
  try {
    run([
      `ip -n ${label}-switch link add hub type bridge`,
      `ip -n ${label}-switch link set hub up`,
      `ip link add ${label} type veth peer name here netns ${label}-switch`,
      `ip addr add ${subnet}.1/24 dev ${label}`,
      `ip link set ${label} up`,
      `ip -n ${label}-switch link set here master hub up`,
      ...[...machines.values()].flatMap((machine) => cable(label, machine)),
    ]);
  } catch (error) {
    remove();
    throw error;
  }
  const machine = (name: string) => machines.get(name) ?? unknown(name);
  const drop = ({ prefix }: Machine, which: string) =>
    `${prefix.join(" ")} iptables -w -A INPUT ${which} -j DROP`;
  return {
    machine,
    cut(one, other) {
      const [first, second] = [machine(one), machine(other)];
      run([drop(first, `-s ${second.address}`), drop(second, `-s ${first.address}`)]);
    },
    isolate(name) {
      const alone = machine(name);
      const others = [...machines.values()].filter((other) => other !== alone);
      run([
        ...others.map((other) => drop(other, `-s ${alone.address}`)),
        ...others.map(({ address }) => drop(alone, `-s ${address}`)),
      ]);
    },
    reset(name, port) {
      const { prefix } = machine(name);
      const rule = `INPUT -p tcp --sport ${port} -j REJECT --reject-with tcp-reset`;
      const iptables = `${prefix.join(" ")} iptables -w`;
      run([`${iptables} -I ${rule}`, `sleep ${resetSeconds}`, `${iptables} -D ${rule}`]);
    },
    countSent(name, port, leastBytes) {
      const { prefix } = machine(name);
      const iptables = `${prefix.join(" ")} iptables -w`;
      run([`${iptables} -A OUTPUT -p tcp --dport ${port} -m length --length ${leastBytes}:65535`]);
      const [command = "", ...args] = iptables.split(" ");
      return () => {
        const { stdout } = spawnSync(command, [...args, "-vnxL", "OUTPUT"], { encoding: "utf8" });
        return Number(/^ *(\d+) .*length/m.exec(stdout)?.[1]);
      };
    },
    heal: () =>
      run([...machines.values()].map(({ prefix }) => `${prefix.join(" ")} iptables -w -F INPUT`)),
    [Symbol.dispose]: remove,
  };
}

/** One that no other run has: the name of its first namespace can be taken once. */
function takeSubnet(): { label: string; subnet: string } {
  for (let tries = 0; tries < 20; tries++) {
    const number = Math.floor(Math.random() * 512);
    const label = `rhc${number}`;
    // A range set aside for tests of network devices: not anyone's home network.
    const subnet = `198.${18 + (number >> 8)}.${number & 255}`;
    const isFree = spawnSync("ip", ["netns", "add", `${label}-switch`]).status === 0;
    if (isFree) return { label, subnet };
  }
  throw new Error("no network namespace can be made");
}

function cable(label: string, { name, address }: Machine): string[] {
  const [network, space] = [`${label}-switch`, `${label}-${name}`];
  return [
    `ip netns add ${space}`,
    `ip link add eth0 netns ${space} type veth peer name ${name} netns ${network}`,
    `ip -n ${network} link set ${name} master hub up`,
    `ip -n ${space} addr add ${address}/24 dev eth0`,
    `ip -n ${space} link set eth0 up`,
    `ip -n ${space} link set lo up`,
  ];
}

function run(commands: readonly string[]): void {
  const { status, stderr } = spawnSync("sh", ["-ec", commands.join("\n")], { encoding: "utf8" });
  if (status !== 0) throw new Error(`${commands[0]} …: ${stderr.trim()}`);
}

function unknown(name: string): never {
  throw new Error(`no machine ${name}`);
}
