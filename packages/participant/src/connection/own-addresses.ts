import type { networkInterfaces } from "node:os";

type Interfaces = ReturnType<typeof networkInterfaces>;

/**
 * Whether a connection that began at this address can still send. After a change of networks nothing tells a socket that its
 * address is gone: its packets disappear, and TCP repeats them for minutes.
 *
 * @param localAddress - as a socket has it
 */
export function hasAddress(interfaces: Interfaces, localAddress: string): boolean {
  // A socket for both families has IPv4 addresses in this form.
  const wanted = localAddress.replace(/^::ffff:(?=\d+\.)/i, "").replace(/%.*$/, "");
  return Object.values(interfaces).some((infos = []) =>
    infos.some(({ address }) => address === wanted),
  );
}
