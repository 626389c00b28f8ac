import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { test } from "vitest";
import { FlushingResponses } from "./flushing-responses.ts";
import { BrokenConnections, discardRest, type RestLimits } from "./unread-rest.ts";

const generous: RestLimits = { bytes: 1e9, ms: 1e6 };

/** A server that refuses each request at its head, and a client that has sent the head of a long one. */
async function refuseOne(limits: RestLimits, connection: "close" | "keep-alive") {
  const flushing = new FlushingResponses(1_000, () => 0);
  const broken = new BrokenConnections(flushing, limits);
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    discardRest(flushing, request, limits);
    response.writeHead(413, { connection, "content-length": 0 }).end();
  });
  server.on("clientError", (_error, socket) => {
    if (!broken.isEnded(socket as Socket)) broken.end(socket as Socket, "HTTP/1.1 400 no\r\n\r\n");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const closed = new Promise((resolve) => {
    server.once("connection", (socket: Socket) => socket.on("close", resolve));
  });
  const { port } = server.address() as AddressInfo;
  const client = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  client.on("error", () => undefined);
  return {
    client,
    tick: (nowMs: number) => flushing.tick(nowMs),
    /** The server has closed the connection. */
    closed,
    /** Sends and waits until something comes back. */
    async say(bytes: string) {
      client.write(bytes);
      await once(client, "data");
    },
    [Symbol.dispose]() {
      client.destroy();
      server.close();
    },
  };
}

const head = "POST / HTTP/1.1\r\nhost: hub\r\ncontent-length: 1000000\r\n\r\n";

test.each(["close", "keep-alive"] as const)(
  "a refused body is cut off at its limit of bytes, connection: %s",
  async (connection) => {
    using refused = await refuseOne({ ...generous, bytes: 100_000 }, connection);
    await refused.say(head);
    refused.client.write(Buffer.alloc(200_000));
    await refused.closed;
  },
);

test.each(["close", "keep-alive"] as const)(
  "a refused body is cut off at its limit of time, connection: %s",
  async (connection) => {
    using refused = await refuseOne(generous, connection);
    await refused.say(head);
    refused.tick(generous.ms);
    await refused.closed;
  },
);

test("what follows a broken request is cut off at its limit of bytes", async () => {
  using refused = await refuseOne({ ...generous, bytes: 100_000 }, "close");
  await refused.say("nonsense\r\n\r\n");
  refused.client.write(Buffer.alloc(200_000));
  await refused.closed;
});

test("what follows a broken request is cut off at its limit of time", async () => {
  using refused = await refuseOne(generous, "close");
  await refused.say("nonsense\r\n\r\n");
  refused.tick(generous.ms);
  await refused.closed;
});

test("a client that is done closes the connection before any limit", async () => {
  for (const bytes of [head, "nonsense\r\n\r\n"]) {
    using refused = await refuseOne(generous, "close");
    await refused.say(bytes);
    refused.client.end();
    await refused.closed;
  }
});
