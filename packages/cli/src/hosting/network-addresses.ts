import { endianness, type NetworkInterfaceInfo } from "node:os";
import { readFileSync } from "node:fs";

/** An address at which other machines may reach this one. */
export interface LanAddress {
  address: string;
  /** The system's name of the network interface. */
  interfaceName: string;
}

const virtualInterface = /^(?:docker|br-|veth|virbr|vmnet|vboxnet|utun|tun|tailscale)/;

/**
 * IPv4 addresses of this machine's networks, physical networks before virtual ones; IPv6 only when there is no IPv4.
 *
 * @param interfaces - of `os.networkInterfaces()`
 */
export function findLanAddresses(
  interfaces: Readonly<Record<string, NetworkInterfaceInfo[] | undefined>>,
): LanAddress[] {
  const found = Object.entries(interfaces).flatMap(([interfaceName, infos = []]) =>
    infos
      .filter((info) => !info.internal && !isLinkLocal(info.address))
      .map((info) => ({ address: info.address, interfaceName, family: info.family })),
  );
  const ipv4 = found.filter((entry) => entry.family === "IPv4");
  const shown = ipv4.length > 0 ? ipv4 : found;
  return shown
    .map(({ address, interfaceName }) => ({ address, interfaceName }))
    .sort((a, b) => rank(a) - rank(b));
}

function isLinkLocal(address: string): boolean {
  return address.startsWith("169.254.") || /^fe[89ab]/i.test(address);
}

function rank({ interfaceName }: LanAddress): number {
  return virtualInterface.test(interfaceName) ? 1 : 0;
}

/** RTF_GATEWAY of Linux' *route.h*: the next hop is a router. */
const isRouter = 0x2;

/** The addresses of this machine's default gateways, as sockets spell them; none where there is no `/proc`. */
export function readDefaultGateways(): string[] {
  return [
    ...gatewaysOf(readTable("/proc/net/route"), endianness()),
    ...ipv6GatewaysOf(readTable("/proc/net/ipv6_route")),
  ];
}

function readTable(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // Another system, or a kernel without IPv6: no route is known.
    return "";
  }
}

/**
 * @param table - of `/proc/net/route`: `Iface Destination Gateway Flags … Mask …`, in hexadecimal
 * @param byteOrder - of the machine, in which the kernel writes addresses there
 */
export function gatewaysOf(table: string, byteOrder: "LE" | "BE"): string[] {
  return table.split("\n").flatMap((line) => {
    const [, network = "", gateway = "", flags = "", , , , mask = ""] = line.trim().split(/\s+/);
    if (Number(`0x${network}`) !== 0 || Number(`0x${mask}`) !== 0) return [];
    if ((Number(`0x${flags}`) & isRouter) === 0) return [];
    const bytes = [...Buffer.from(gateway, "hex")];
    return [(byteOrder === "LE" ? bytes.reverse() : bytes).join(".")];
  });
}

/** @param table - of `/proc/net/ipv6_route`: `destination bits source bits gateway metric … flags device` */
export function ipv6GatewaysOf(table: string): string[] {
  return table.split("\n").flatMap((line) => {
    const [, bits, , , gateway = "", , , , flags = ""] = line.trim().split(/\s+/);
    if (bits !== "00" || (Number(`0x${flags}`) & isRouter) === 0) return [];
    const spelled = gateway.match(/.{4}/g)?.join(":");
    // URL() shortens zeros as sockets do.
    return spelled === undefined ? [] : [new URL(`http://[${spelled}]`).hostname.slice(1, -1)];
  });
}
