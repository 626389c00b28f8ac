import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { WebSocket, WebSocketServer } from "ws";

/** Two ends of a connection over `ws`, and the socket below the client's. */
export async function webSocketPair() {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const client = new WebSocket(`ws://127.0.0.1:${port}`, { perMessageDeflate: false });
  const upgraded = once(client, "upgrade") as Promise<[{ socket: Socket }]>;
  const [[peer], [{ socket }]] = await Promise.all([
    once(server, "connection") as Promise<[WebSocket]>,
    upgraded,
    once(client, "open"),
  ]);
  const close = async () => {
    client.terminate();
    await new Promise((resolve) => server.close(resolve));
  };
  return { peer, client, socket, [Symbol.asyncDispose]: close };
}
