import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import type { Duplex } from "node:stream";

/** A proxy as offices have it: what is asked for by CONNECT leads to the port, or with undefined is refused. */
export async function startConnectProxy(port: number | undefined) {
  const asked: string[] = [];
  const said: (string | undefined)[] = [];
  const open = new Set<Duplex>();
  const server = createServer();
  server.on("connect", (request, client) => {
    asked.push(request.url ?? "");
    said.push(request.headers["proxy-authorization"]);
    if (port === undefined) return void client.end("HTTP/1.1 403 Forbidden\r\n\r\n");
    const far = connect(port, "127.0.0.1", () => {
      client.write("HTTP/1.1 200 OK\r\n\r\n");
      client.pipe(far).pipe(client);
    });
    for (const socket of [client, far]) socket.on("error", () => undefined);
    client.on("close", () => far.destroy());
    far.on("close", () => client.destroy());
    open.add(client);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    ...{ asked, url, env: { HTTPS_PROXY: url } },
    /** what clients said of themselves */
    said,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
