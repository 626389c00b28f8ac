import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { HOME_ELSEWHERE, PEER_HEADER } from "./heads.ts";
import { bob, startEntry, startHome } from "./hop.fixture.ts";

const handshake = "GET /ws HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n";
const accepted =
  "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";

interface Arrived {
  request: IncomingMessage;
  socket: Socket;
  head: Buffer;
}

/** A home that leaves handshakes to the test, and a client's that goes there. */
async function startUpgrade(stack: AsyncDisposableStack, more = "") {
  const arrival = Promise.withResolvers<Arrived>();
  const home = await startHome(
    stack,
    bob,
    (_request, response) => void response.writeHead(404).end(),
    (request, socket, head) => arrival.resolve({ request, socket, head }),
  );
  const entry = await startEntry(stack, home);
  const client = connect({ port: entry.port, host: "127.0.0.1", allowHalfOpen: true });
  stack.defer(() => void client.destroy());
  client.on("error", () => {});
  client.write(`${handshake}X-Roomhub-Peer: forged\r\n\r\n${more}`);
  return { entry, home, client, ...(await arrival.promise) };
}

/** The same, accepted. `got`: what the client has after the head of the response */
async function startAccepted(stack: AsyncDisposableStack, first = "") {
  const it = await startUpgrade(stack);
  it.socket.write(`${accepted}${first}`);
  let got = "";
  const over = Promise.withResolvers<string>();
  it.client.setEncoding("latin1").on("data", (part: string) => (got += part));
  it.client.on("end", () => over.resolve(bodyOf(got)));
  await expect.poll(() => got).toContain("\r\n\r\n");
  return { ...it, bodyNow: () => bodyOf(got), ended: over.promise };
}

function bodyOf(response: string): string {
  return response.slice(response.indexOf("\r\n\r\n") + 4);
}

describe("a WebSocket that is piped", () => {
  test("comes with its headers and what the hub says of its client", async () => {
    await using stack = new AsyncDisposableStack();
    const { request } = await startUpgrade(stack);
    expect(request.headers).toEqual({
      ...{ host: "h", connection: "Upgrade", upgrade: "websocket" },
      "x-roomhub-peer": '{"requestId":"req_1"}',
    });
  });

  test("has the bytes that came with each side's head", async () => {
    await using stack = new AsyncDisposableStack();
    const it = await startUpgrade(stack, "early");
    it.socket.end(`${accepted}first`);
    let read = it.head.toString("latin1");
    it.socket.on("data", (part: Buffer) => (read += part.toString("latin1")));
    it.client.end();
    expect(bodyOf(await text(it.client))).toBe("first");
    await expect.poll(() => read).toBe("early");
    await expect.poll(() => it.entry.upgrades).toEqual(["over"]);
  });

  test("whose home ends first has what its client sends after that", async () => {
    await using stack = new AsyncDisposableStack();
    const it = await startAccepted(stack);
    it.socket.end("last of the home");
    expect(await it.ended).toBe("last of the home");
    it.client.end("last of the client");
    expect(await text(it.socket)).toBe("last of the client");
    await expect.poll(() => it.entry.upgrades).toEqual(["over"]);
    await expect.poll(() => it.home.sockets.size).toBe(0);
  });

  test("whose client ends first has all that its home sends after that, however slowly it reads", async () => {
    await using stack = new AsyncDisposableStack();
    const it = await startAccepted(stack);
    it.client.end("last of the client");
    expect(await text(it.socket)).toBe("last of the client");
    it.client.pause();
    const long = "x".repeat(8 * 1024 * 1024);
    it.socket.end(long);
    await expect.poll(() => it.socket.writableLength).toBeGreaterThan(0);
    it.client.resume();
    expect((await it.ended).length).toBe(long.length);
    await expect.poll(() => it.entry.upgrades).toEqual(["over"]);
  });

  test.each(["home", "client"] as const)(
    "is cut at once at its other side where the %s is cut",
    async (cut) => {
      await using stack = new AsyncDisposableStack();
      const { client, socket, entry } = await startAccepted(stack);
      const [one, other] = cut === "home" ? [socket, client] : [client, socket];
      const closed = once(other.on("error", () => {}).resume(), "close");
      one.resetAndDestroy();
      // It keeps its own side open.
      await once(other, "end").catch(() => {});
      other.end();
      await closed;
      await expect.poll(() => entry.upgrades).toEqual(["over"]);
    },
  );

  test("stands still while its client does not read, and the home while the client sends", async () => {
    await using stack = new AsyncDisposableStack();
    const { client, socket } = await startAccepted(stack);
    const megabyte = Buffer.alloc(1024 * 1024);
    for (const [from, to] of [
      [socket, client],
      [client, socket],
    ] as const) {
      to.pause();
      let sent = 0;
      const isFull = () => from.writableLength > 4 * megabyte.length;
      while (!isFull() && sent < 200) {
        from.write(megabyte);
        sent += 1;
        await new Promise((resolve) => setImmediate(resolve));
      }
      expect(sent).toBeLessThan(200);
      to.resume();
      await expect.poll(() => from.writableLength).toBe(0);
    }
  });
});

describe("a client that leaves before the home has accepted", () => {
  test.each(["end", "resetAndDestroy"] as const)("leaves nothing at it: %s", async (leave) => {
    await using stack = new AsyncDisposableStack();
    const { client, socket, entry } = await startUpgrade(stack);
    const ended = once(socket.resume(), "end");
    client[leave]();
    await ended;
    await expect.poll(() => entry.upgrades).toEqual(["over"]);
  });
});

describe("a handshake that the home refuses", () => {
  test("has all of the refusal, however long it is", async () => {
    await using stack = new AsyncDisposableStack();
    const { client, socket, entry } = await startUpgrade(stack);
    const body = "x".repeat(1024 * 1024);
    socket.end(
      `HTTP/1.1 403 Forbidden\r\nX-A: 1\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    const response = await text(client);
    expect(response).toMatch(/^HTTP\/1\.1 403 Forbidden\r\nX-A: 1\r\n/);
    expect(bodyOf(response).length).toBe(body.length);
    expect(entry.upgrades).toEqual(["over"]);
  });

  test("and cut in its refusal is cut at the client", async () => {
    await using stack = new AsyncDisposableStack();
    const { client, socket, entry } = await startUpgrade(stack);
    socket.write("HTTP/1.1 403 Forbidden\r\nContent-Length: 100\r\n\r\nhalf", () =>
      socket.destroy(),
    );
    await once(client.resume(), "end").catch(() => {});
    await expect.poll(() => entry.upgrades).toEqual(["over"]);
  });

  test("for another hub may go there, also when that is cut in its body", async () => {
    await using stack = new AsyncDisposableStack();
    const { client, socket, entry } = await startUpgrade(stack);
    socket.write(
      `HTTP/1.1 421 Misdirected\r\n${PEER_HEADER}: ${HOME_ELSEWHERE}\r\nContent-Length: 100\r\n\r\nhalf`,
      () => socket.destroy(),
    );
    await expect.poll(() => entry.upgrades).toEqual(["untaken"]);
    expect(client.bytesRead).toBe(0);
  });

  test("with a 421 of the home's own does not", async () => {
    await using stack = new AsyncDisposableStack();
    const { client, socket, entry } = await startUpgrade(stack);
    const body = '{"error":{"code":"home_elsewhere"}}';
    socket.end(`HTTP/1.1 421 Misdirected\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    expect(bodyOf(await text(client))).toBe(body);
    expect(entry.upgrades).toEqual(["over"]);
  });

  test("by ending is not sent again", async () => {
    await using stack = new AsyncDisposableStack();
    const { client, socket, entry } = await startUpgrade(stack);
    socket.resetAndDestroy();
    await expect.poll(() => entry.upgrades).toEqual(["broken"]);
    expect(client.bytesRead).toBe(0);
  });
});
