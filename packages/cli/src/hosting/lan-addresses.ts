import type { NetworkInterfaceInfo } from "node:os";

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
