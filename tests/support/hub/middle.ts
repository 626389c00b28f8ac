import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { type TestCertificate, testCertificate } from "./test-certificate.ts";

/** Where clients believe that the hub is. */
export interface Middle extends AsyncDisposable {
  readonly port: number;
  /** `honest`: passes bytes on; `attacking`: ends TLS with a key of its own; `stripping`: speaks plain HTTP */
  mode: "honest" | "attacking" | "stripping";
  /** what clients sent, as the attacker reads it */
  readonly read: string[];
  /** what passed on the wire */
  readonly wire: Buffer[];
  /** Cuts the connections that are open. */
  cut(): void;
}

/** An attacker between clients and a hub, who has a certificate, but not the hub's key. */
export async function startMiddle(
  hubPort: number,
  pair: TestCertificate = testCertificate(),
): Promise<Middle> {
  const open = new Set<Socket>();
  const keep = (socket: Socket) => {
    open.add(socket);
    socket.on("error", () => socket.destroy()).once("close", () => open.delete(socket));
    return socket;
  };
  const passOn = (client: Socket) => {
    const hub = keep(connect({ host: "127.0.0.1", port: hubPort }));
    for (const [from, to] of [
      [client, hub],
      [hub, client],
    ] as const) {
      from.on("data", (bytes) => {
        middle.wire.push(bytes);
        to.write(bytes);
      });
      from.once("close", () => to.destroy());
    }
  };
  const readFrom = (client: Socket) => {
    client.on("data", (bytes) => {
      middle.read.push(bytes.toString("latin1"));
      client.end("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}");
    });
  };
  const server = createServer((client) => {
    keep(client);
    if (middle.mode === "honest") return passOn(client);
    if (middle.mode === "stripping") return readFrom(client);
    readFrom(keep(new TLSSocket(client, { isServer: true, ...pair })));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const middle: Middle = {
    port: (server.address() as AddressInfo).port,
    mode: "honest",
    read: [],
    wire: [],
    cut() {
      for (const socket of open) socket.destroy();
    },
    async [Symbol.asyncDispose]() {
      middle.cut();
      server.close();
      await once(server, "close");
    },
  };
  return middle;
}
