import { once } from "node:events";
import {
  createServer as createNetServer,
  type Server as NetServer,
  type AddressInfo,
} from "node:net";
import type { Server } from "node:http";

/** Both families of this machine, so that `localhost` works whatever it resolves to. */
const loopback = ["127.0.0.1", "::1"] as const;

export interface Listening {
  host: string;
  port: number;
  close(): void;
}

/**
 * Binds an HTTP server. Without a host: 127.0.0.1, and ::1 on the same port where the machine has it.
 *
 * @throws NodeJS.ErrnoException `EADDRINUSE` and its like, of the first address
 */
export async function listen(
  server: Server,
  host: string | undefined,
  port: number,
): Promise<Listening> {
  const first = host ?? loopback[0];
  await listenOn(server, first, port);
  const bound = (server.address() as AddressInfo).port;
  const second = host === undefined ? await tryListen(server, loopback[1], bound) : undefined;
  return {
    host: first,
    port: bound,
    close() {
      server.close();
      second?.close();
    },
  };
}

async function listenOn(server: NetServer, host: string, port: number): Promise<void> {
  server.listen(port, host);
  await once(server, "listening");
}

/** A machine without IPv6 loses nothing. */
async function tryListen(
  server: Server,
  host: string,
  port: number,
): Promise<NetServer | undefined> {
  const second = createNetServer({ noDelay: true }, (socket) => server.emit("connection", socket));
  try {
    await listenOn(second, host, port);
    return second;
  } catch {
    return undefined; // no ::1 here, or somebody else's: 127.0.0.1 is bound, which is what was promised
  }
}
