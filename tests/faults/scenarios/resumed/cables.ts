import { spawnSync } from "node:child_process";
import type { Children } from "../../child.ts";

/** A machine of its own with several cables to this one, each of which can fail without the others. */
export interface CabledMachine {
  /** runs a program on it */
  readonly prefix: readonly string[];
  readonly cables: readonly Cable[];
  remove(): void;
}

interface Cable {
  /** this machine, seen through the cable */
  readonly hostAddress: string;
  /** From now on every packet disappears, in both directions. */
  readonly cut: () => void;
  readonly mend: () => void;
  /** The other end has another address from now on, as after a change of networks. */
  readonly readdress: () => void;
}

/**
 * Needs root. Removed with the harness, however that ends.
 *
 * @param index - tells apart those of one harness
 */
export function createCabledMachine(
  children: Children,
  index: number,
  count: number,
): CabledMachine {
  const name = `rhc${process.pid}-${index}`;
  const devices = Array.from({ length: count }, (_, cable) => `rh${process.pid}${index}${cable}`);
  const links = devices.map((device) => `ip link del ${device}a 2>/dev/null;`).join(" ");
  const undo = `ip netns del ${name}; ${links} true`;
  children.undoOnCrash(undo);
  sh(`ip netns add ${name}`);
  sh(`ip -n ${name} link set lo up`);
  // A range set aside for tests of network devices; the pid keeps harnesses apart that run at the same time.
  const block = (process.pid * 4 + index) % 256;
  const cables = devices.map((device, cable) =>
    layCable(name, device, `198.19.${block}.${cable * 16}`),
  );
  return {
    prefix: ["ip", "netns", "exec", name],
    cables,
    remove() {
      spawnSync("sh", ["-c", undo]);
      children.forgetUndo(undo);
    },
  };
}

/** @param network - its first address, of sixteen */
function layCable(name: string, device: string, network: string): Cable {
  const [, head = "", last = ""] = /^(.*\.)(\d+)$/.exec(network) ?? [];
  const addressOf = (host: number) => `${head}${Number(last) + host}`;
  const inside = `${device}b`;
  let host = 2;
  sh(`ip link add ${device}a type veth peer name ${inside} netns ${name}`);
  sh(`ip addr add ${addressOf(1)}/28 dev ${device}a`);
  sh(`ip link set ${device}a up`);
  sh(`ip -n ${name} addr add ${addressOf(host)}/28 dev ${inside}`);
  sh(`ip -n ${name} link set ${inside} up`);
  const drop = (change: "-A" | "-D") => {
    const iptables = `ip netns exec ${name} iptables -w`;
    sh(`${iptables} ${change} INPUT -i ${inside} -j DROP`);
    sh(`${iptables} ${change} OUTPUT -o ${inside} -j DROP`);
  };
  return {
    hostAddress: addressOf(1),
    cut: () => drop("-A"),
    mend: () => drop("-D"),
    readdress: () => {
      const old = addressOf(host);
      host = host === 14 ? 2 : host + 1;
      sh(`ip -n ${name} addr del ${old}/28 dev ${inside}`);
      sh(`ip -n ${name} addr add ${addressOf(host)}/28 dev ${inside}`);
    },
  };
}

function sh(command: string): void {
  const { status, stderr } = spawnSync("sh", ["-c", command], { encoding: "utf8" });
  if (status !== 0) throw new Error(`${command}: ${stderr.trim()}`);
}
