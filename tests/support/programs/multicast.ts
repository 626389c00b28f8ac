import { createSocket } from "node:dgram";
import { networkInterfaces } from "node:os";

const group = "224.0.0.251";
const patienceMs = 1_000;

/** Whether this machine receives its own multicasts, as multicast DNS needs it. Some containers do not. */
export async function hearsMulticast(): Promise<boolean> {
  const addresses = Object.values(networkInterfaces())
    .flatMap((infos) => infos ?? [])
    .filter(({ family, internal }) => family === "IPv4" && !internal)
    .map(({ address }) => address);
  const [address = "127.0.0.1"] = addresses;
  const socket = createSocket({ type: "udp4", reuseAddr: true });
  try {
    return await new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => resolve(false), patienceMs);
      const settle = (isHeard: boolean) => {
        clearTimeout(timer);
        resolve(isHeard);
      };
      socket.on("error", () => settle(false));
      socket.on("message", () => settle(true));
      socket.bind(0, "0.0.0.0", () => {
        try {
          socket.addMembership(group, address);
          socket.setMulticastInterface(address);
          socket.send("anybody?", socket.address().port, group);
        } catch {
          // A machine without that interface any more, or without the right to join.
          settle(false);
        }
      });
    });
  } finally {
    socket.close();
  }
}
