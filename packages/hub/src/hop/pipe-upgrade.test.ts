import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { HopAcceptor } from "./accept.ts";
import { HopDialler } from "./dial.ts";
import { HOME_ELSEWHERE, PEER_HEADER } from "./heads.ts";
import { Hops } from "./hops.ts";
import type { UpgradeOutcome } from "./pipe-upgrade.ts";

const secret = Buffer.alloc(32, "cluster");
const ada = { hubId: "00000000000000aa", bootId: "000000a1" };
const bob = { hubId: "00000000000000bb", bootId: "000000b1" };
const wallMs = () => 1_000_000;
const accepted = "HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: test\r\n\r\n";
const handshake = "GET /a HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: test\r\n\r\n";

type OnUpgrade = (request: IncomingMessage, socket: Socket, head: Buffer) => void;

/** A client's connection to a hub that pipes its handshake to a home. */
async function startPipe(stack: AsyncDisposableStack, onUpgrade: OnUpgrade) {
  async function listen(
    onArriving: (request: IncomingMessage, socket: Duplex, head: Buffer) => void,
  ) {
    const server = createServer();
    const sockets = new Set<Socket>();
    server.on("connection", (socket) => sockets.add(socket));
    server.on("upgrade", onArriving).listen(0, "127.0.0.1");
    await once(server, "listening");
    stack.defer(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    return (server.address() as AddressInfo).port;
  }
  const served = createServer().on("upgrade", onUpgrade as never);
  const acceptor = new HopAcceptor({
    ...{ self: bob, secret, wallMs },
    onSocket: (socket) => served.emit("connection", socket),
  });
  const homePort = await listen((request, socket, head) => acceptor.accept(request, socket, head));
  const hops = new Hops({
    dialler: new HopDialler({ self: ada, secret, wallMs }),
    targetOf: () => ({ ...bob, linkUrl: `http://127.0.0.1:${homePort}` }),
    onRefused: () => undefined,
  });
  stack.defer(() => hops.close());
  const outcome = Promise.withResolvers<UpgradeOutcome>();
  const port = await listen((request, socket, head) => {
    socket.on("error", () => undefined);
    void hops.pipeUpgrade({ request, socket, head }, bob, "{}").then(outcome.resolve);
  });
  const client = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  client.on("error", () => undefined);
  stack.defer(() => void client.destroy());
  return { client, outcome: outcome.promise };
}

/** Both ends of a pipe that the home has accepted, and what it said with that. */
async function opened(stack: AsyncDisposableStack) {
  const arrived = Promise.withResolvers<Socket>();
  const { client, outcome } = await startPipe(stack, (_request, socket) => {
    socket.on("error", () => undefined);
    socket.write(`${accepted}hello`);
    arrived.resolve(socket);
  });
  client.write(handshake);
  const home = await arrived.promise;
  const [first] = (await once(client, "data")) as [Buffer];
  expect(first.toString()).toMatch(/^HTTP\/1\.1 101 /);
  return { client, home, outcome };
}

test("what came with a handshake passes both ways, in front of what follows", async () => {
  await using stack = new AsyncDisposableStack();
  const got = Promise.withResolvers<string>();
  const { client, outcome } = await startPipe(stack, (_request, socket, head) => {
    if (head.length > 0) socket.unshift(head);
    socket.write(`${accepted}hello`);
    void text(socket).then((all) => {
      got.resolve(all);
      socket.end(" and bye");
    });
  });
  client.write(`${handshake}early`);
  client.write(" late");
  client.end();
  expect(await got.promise).toBe("early late");
  expect(await text(client)).toMatch(/^HTTP\/1\.1 101 [^]*\r\n\r\nhello and bye$/);
  expect(await outcome).toBe("over");
});

test.each(["client", "home"] as const)(
  "the %s may end first and still hears the other",
  async (which) => {
    await using stack = new AsyncDisposableStack();
    const { client, home, outcome } = await opened(stack);
    const [first, last] = which === "client" ? [client, home] : [home, client];
    const heard = text(first);
    first.end("done");
    expect(await text(last)).toContain("done");
    last.end("x".repeat(3_000_000));
    expect((await heard).slice(-3_000_000)).toBe("x".repeat(3_000_000));
    expect(await outcome).toBe("over");
  },
);

test.each(["client", "home"] as const)("a %s that is cut ends the other", async (which) => {
  await using stack = new AsyncDisposableStack();
  const { client, home, outcome } = await opened(stack);
  const [cut, other] = which === "client" ? [client, home] : [home, client];
  const ended = once(other, "end");
  other.resume();
  cut.resetAndDestroy();
  await ended;
  expect(await outcome).toBe("over");
});

test("a client that leaves before the home has accepted leaves the home", async () => {
  await using stack = new AsyncDisposableStack();
  const arrived = Promise.withResolvers<Socket>();
  const { client, outcome } = await startPipe(stack, (_request, socket) => {
    socket.on("error", () => undefined);
    arrived.resolve(socket);
  });
  client.write(handshake);
  const home = await arrived.promise;
  const ended = once(home, "end");
  home.resume();
  client.resetAndDestroy();
  await ended;
  expect(await outcome).toBe("over");
});

test("a refusal comes whole, however long it is", async () => {
  await using stack = new AsyncDisposableStack();
  const body = "x".repeat(200_000);
  const { client, outcome } = await startPipe(stack, (_request, socket) =>
    socket.end(`HTTP/1.1 403 No\r\ncontent-length: ${body.length}\r\n\r\n${body}`),
  );
  client.write(handshake);
  const got = await text(client);
  expect(got).toMatch(/^HTTP\/1\.1 403 No\r\n/);
  expect(got.slice(-body.length)).toBe(body);
  expect(await outcome).toBe("over");
});

test("a home that is none any more leaves the handshake to the next", async () => {
  await using stack = new AsyncDisposableStack();
  const { client, outcome } = await startPipe(stack, (_request, socket) =>
    socket.end(`HTTP/1.1 421 No\r\n${PEER_HEADER}: ${HOME_ELSEWHERE}\r\ncontent-length: 0\r\n\r\n`),
  );
  client.write(handshake);
  expect(await outcome).toBe("untaken");
  expect(client.destroyed).toBe(false);
});

test("a home that ends before it has answered is not asked again", async () => {
  await using stack = new AsyncDisposableStack();
  const { client, outcome } = await startPipe(stack, (_request, socket) =>
    socket.resetAndDestroy(),
  );
  client.write(handshake);
  expect(await outcome).toBe("broken");
});
