import { readFileSync } from "node:fs";
import { endianness } from "node:os";

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
