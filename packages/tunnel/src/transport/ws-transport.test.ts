import { once } from "node:events";
import { expect, test } from "vitest";
import type { WebSocket } from "ws";
import { webSocketPair } from "./web-socket-pair.fixture.ts";
import { wsTransport } from "./ws-transport.ts";

/** A transport over a real WebSocket. */
async function connected() {
  const ends = await webSocketPair();
  const transport = wsTransport(ends.client, ends.socket);
  transport.listen({ onMessage() {}, onLife() {}, onClose() {} });
  return { ...ends, transport };
}

/** The lengths of the next messages. */
function received(peer: WebSocket, count: number): Promise<number[]> {
  const all = Promise.withResolvers<number[]>();
  const lengths: number[] = [];
  peer.on("message", (bytes: Buffer) => {
    if (lengths.push(bytes.length) === count) all.resolve(lengths);
  });
  return all.promise;
}

test("a message that another one follows leaves with that one", async () => {
  await using ends = await connected();
  const { bytesWritten } = ends.socket;
  const lengths = received(ends.peer, 3);
  ends.transport.send(Buffer.alloc(1_000), true);
  ends.transport.send(Buffer.alloc(2_000), true);
  expect([ends.socket.writableCorked, ends.transport.bufferedBytes > 3_000]).toEqual([1, true]);
  ends.transport.send(Buffer.alloc(3_000));
  expect(ends.socket.writableCorked).toBe(0);
  expect(await lengths).toEqual([1_000, 2_000, 3_000]);
  expect(ends.socket.bytesWritten - bytesWritten).toBeGreaterThan(6_000);
});

test("messages of more than 256 KiB do not wait for the next one", async () => {
  await using ends = await connected();
  const lengths = received(ends.peer, 4);
  const corked = [150_000, 150_000, 1_000].map((length) => {
    ends.transport.send(Buffer.alloc(length), true);
    return ends.socket.writableCorked;
  });
  expect(corked).toEqual([1, 0, 1]);
  ends.transport.send(Buffer.alloc(0));
  expect(await lengths).toEqual([150_000, 150_000, 1_000, 0]);
});

test("what waits for the next message leaves although the connection is being closed", async () => {
  await using ends = await connected();
  const closed = once(ends.peer, "close");
  ends.transport.send(Buffer.alloc(1_000), true);
  ends.client.close(4_000);
  ends.transport.send(Buffer.alloc(1_000));
  expect(ends.socket.writableCorked).toBe(0);
  expect((await closed)[0]).toBe(4_000);
});
