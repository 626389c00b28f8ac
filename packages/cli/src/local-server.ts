import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

/** An HTTP server of this process. */
export interface LocalServer {
  port: number;
  /** Ends its connections too. */
  close: () => Promise<void>;
}

/**
 * @param port - undefined: the usual one, or any free one when that is in use
 * @throws NodeJS.ErrnoException when the port cannot be opened
 */
export async function listenUsually(
  server: Server,
  host: string,
  port: number | undefined,
  usualPort: number,
): Promise<LocalServer> {
  try {
    return await listen(server, host, port ?? usualPort);
  } catch (error) {
    if (port !== undefined || (error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    return listen(server, host, 0);
  }
}

/**
 * @param port - 0 for any free one
 * @throws NodeJS.ErrnoException when the port cannot be opened
 */
export async function listen(server: Server, host: string, port: number): Promise<LocalServer> {
  server.listen(port, host);
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
