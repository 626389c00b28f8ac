import { systemWorld, type World } from "@roomhub/protocol";
import { once } from "node:events";
import { Agent, createServer, get, type RequestListener } from "node:http";
import { connect, type Socket } from "node:net";
import { expect, test } from "vitest";
import { listenOnPort } from "../../packages/hub/src/listen.ts";
import { createGate, within } from "../support/waiting.ts";

/** More than two kernels' socket buffers hold. */
const manyBytes = 48 * 1024 * 1024;

/** Longer than any test waits: a close that resolves has not waited for it. */
const longGraceMs = 600_000;

async function serving(answer: RequestListener) {
  const server = createServer({ keepAliveTimeout: longGraceMs }, answer);
  return listenOnPort(systemWorld, server, undefined, 0);
}

async function connected(port: number): Promise<Socket> {
  const socket = connect({ host: "127.0.0.1", port });
  await within(once(socket, "connect"), "the connection");
  return socket;
}

const request = "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";

test("closing completes a response that waits for a slow reader, and then does not wait any longer", async () => {
  const listening = await serving((_request, response) => {
    response.writeHead(200, { "content-length": manyBytes }).end(Buffer.alloc(manyBytes));
  });
  const socket = await connected(listening.port);
  socket.write(request);
  const [first] = (await within(once(socket, "data"), "the response")) as [Buffer];
  socket.pause();
  let received = first.length - (first.indexOf("\r\n\r\n") + 4);
  socket.on("data", (chunk) => (received += chunk.length));
  const ended = once(socket, "close");
  const closing = listening.close(longGraceMs);
  socket.resume();
  await within(closing, "the close");
  await within(ended, "the connection's end");
  expect(received).toBe(manyBytes);
});

test("closing lets a pending response complete, and ends its connection with it", async () => {
  const [asked, gate] = [createGate(), createGate()];
  const listening = await serving((_request, response) => {
    asked.open();
    void gate.opened.then(() => response.end("made"));
  });
  const socket = await connected(listening.port);
  socket.write(request);
  let text = "";
  socket.on("data", (chunk) => (text += chunk.toString()));
  const ended = once(socket, "close");
  await within(asked.opened, "the request");
  const closing = listening.close(longGraceMs);
  gate.open();
  await within(closing, "the close");
  await within(ended, "the connection's end");
  expect(text).toMatch(/\r\n\r\nmade$/);
});

test.each(["127.0.0.1", "::1"])(
  "closing does not wait for an idle connection over %s",
  async (host) => {
    const listening = await serving((_request, response) => response.end("fine"));
    await using agent = agentOf();
    const answer = get({ host, port: listening.port, agent: agent.agent });
    const [response] = await within(once(answer, "response"), "the response");
    await within(once(response.resume(), "end"), "the response's end");
    const unused = await connected(listening.port);
    const ended = once(unused.resume(), "close");
    await within(listening.close(longGraceMs), "the close");
    await within(ended, "the unused connection's end");
  },
);

test("closing serves the request of a client that has just connected", async () => {
  const accepted = createGate();
  const server = createServer((_request, response) => response.end("stopping"));
  server.on("connection", () => accepted.open());
  const listening = await listenOnPort(systemWorld, server, undefined, 0);
  const socket = await connected(listening.port);
  await within(accepted.opened, "the connection at the server");
  const closing = listening.close(longGraceMs);
  socket.write(request);
  let text = "";
  socket.on("data", (chunk) => (text += chunk.toString()));
  await within(once(socket, "close"), "the connection's end");
  await within(closing, "the close");
  expect(text).toMatch(/stopping/);
});

test("closing serves a request that arrives while the process stands still", async () => {
  const accepted = createGate();
  const server = createServer((_request, response) => response.end("stopping"));
  server.on("connection", () => accepted.open());
  // Timers are due together, as they are when nothing has run for a while.
  const stillMs = 100;
  const world: World = {
    ...systemWorld,
    setTimeout: (task, ms) => systemWorld.setTimeout(task, Math.max(ms, stillMs)),
  };
  const listening = await listenOnPort(world, server, undefined, 0);
  const socket = await connected(listening.port);
  await within(accepted.opened, "the connection at the server");
  const closing = listening.close(longGraceMs);
  // Its timers run, and are what follows in the event loop.
  for (let turn = 0; turn < 2; turn++)
    await new Promise<void>((resolve) => systemWorld.setImmediate(resolve));
  socket.write(request);
  let text = "";
  socket.on("data", (chunk) => (text += chunk.toString()));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * stillMs);
  await within(once(socket, "close"), "the connection's end");
  await within(closing, "the close");
  expect(text).toMatch(/stopping/);
});

test("closing disconnects a client that does not read in time", async () => {
  const listening = await serving((_request, response) => response.end(Buffer.alloc(manyBytes)));
  const socket = await connected(listening.port);
  socket.on("error", () => undefined);
  socket.write(request);
  await within(once(socket, "data"), "the response");
  socket.pause();
  await within(listening.close(1), "the close");
  const ended = once(socket, "close");
  socket.resume();
  await within(ended, "the connection's end");
});

test("closing cuts no connection that is kept, until it is not", async () => {
  const [asked, gate] = [createGate(), createGate()];
  let kept: Socket | undefined;
  const listening = await serving(({ socket, url }, response) => {
    if (url !== "/kept") return;
    kept = socket;
    asked.open();
    void gate.opened.then(() => response.end("made"));
  });
  const [late, other] = [await connected(listening.port), await connected(listening.port)];
  late.write(request.replace("/", "/kept"));
  other.write(request);
  let text = "";
  late.on("data", (chunk) => (text += chunk.toString()));
  const [lateEnded, otherEnded] = [once(late, "close"), once(other.resume(), "close")];
  await within(asked.opened, "the request");
  const closing = listening.close(1, (connection) => connection === kept && text === "");
  await within(otherEnded, "the end of the connection that is cut");
  gate.open();
  await within(closing, "the close");
  await within(lateEnded, "the connection's end");
  expect(text).toMatch(/made/);
});

function agentOf() {
  const agent = new Agent({ keepAlive: true });
  return { agent, [Symbol.asyncDispose]: async () => agent.destroy() };
}
