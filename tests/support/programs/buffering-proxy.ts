import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";

/**
 * A badly configured proxy: it relays a response once it is complete, and no WebSocket at all.
 *
 * @param isHeld - by method; the responses to others pass as they arrive
 */
export async function startBufferingProxy(
  target: string,
  isHeld: (method: string) => boolean = () => true,
): Promise<AsyncDisposable & { url: string }> {
  const server = createServer(
    (incoming, response) =>
      void forward(target, incoming, response, isHeld(incoming.method ?? "GET")),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function forward(
  target: string,
  incoming: IncomingMessage,
  response: ServerResponse,
  isHeld: boolean,
): Promise<void> {
  const { connection: _connection, upgrade: _upgrade, ...headers } = incoming.headers;
  const onward = request(target + (incoming.url ?? "/"), { method: incoming.method, headers });
  response.on("close", () => onward.destroy());
  incoming.pipe(onward);
  try {
    const [answer] = (await once(onward, "response")) as [IncomingMessage];
    const body = isHeld ? [await buffer(answer)] : answer;
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    await pipeline(body, response);
  } catch {
    // The client went away before it had it all.
    response.destroy();
  }
}
