import { spawnSync } from "node:child_process";
import { connect, createServer, type AddressInfo } from "node:net";
import { until } from "../../tests/support/waiting.ts";

/** Where a program is; undefined when it is not installed. Servers are often in folders that only root has in its path. */
export function commandPath(name: string): string | undefined {
  const found = spawnSync(
    "sh",
    ["-c", `PATH="$PATH:/usr/sbin:/usr/local/sbin" command -v ${name}`],
    {
      encoding: "utf8",
    },
  );
  return found.status === 0 ? found.stdout.trim() : undefined;
}

/** A port for a program that cannot choose one by itself. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export async function portOpened(port: number, what: string): Promise<void> {
  await until(`${what} to listen`, () => isOpen(port), Boolean);
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const resolveWith = (is: boolean) => () => {
      socket.destroy();
      resolve(is);
    };
    socket.on("connect", resolveWith(true)).on("error", resolveWith(false));
  });
}
