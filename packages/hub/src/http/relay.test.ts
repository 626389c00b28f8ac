import { once } from "node:events";
import { createServer, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { systemWorld, TurnEnd } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { FlushingResponses } from "./flushing-responses.ts";
import { SocketClientResponse } from "./relay.ts";

/** What a client gets of what is written, and the response once it has been sent. */
async function relayed(write: (client: SocketClientResponse) => void): Promise<Buffer> {
  const server = createServer((incoming, response: ServerResponse) => {
    const client = new SocketClientResponse(incoming, response, {
      ...{ requestId: "req_1", errorShape: "openai" },
      flushing: new FlushingResponses(1_000, () => 0),
      turnEnd: new TurnEnd(systemWorld),
    });
    client.writeHead(200, {});
    write(client);
    client.end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const [response] = await once(request({ port, host: "127.0.0.1" }).end(), "response");
  const body = await buffer(response);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  return body;
}

/** A part of a body as it comes through a tunnel: behind the head of its frame. */
function part(byte: number, frameBytes: number): Buffer {
  const memory = Buffer.allocUnsafeSlow(100_000).fill(byte);
  return memory.subarray(frameBytes);
}

test("the memory of what nothing else reads is given back once the client's socket has it", async () => {
  const [last, other, behindMore] = [part(1, 9), part(2, 9), part(3, 30)];
  const expected = Buffer.concat([last, other, behindMore]);
  const body = await relayed((client) => {
    client.write(last, true);
    client.write(other);
    client.write(behindMore, true);
    // Not before it was sent.
    expect(last).toHaveLength(99_991);
  });
  expect(body.equals(expected)).toBe(true);
  expect([last, other, behindMore].map(({ length }) => length)).toEqual([0, 99_991, 99_970]);
});
