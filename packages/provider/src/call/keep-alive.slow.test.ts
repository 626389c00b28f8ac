import { systemWorld } from "@roomhub/protocol";
import { once } from "node:events";
import { expect, test } from "vitest";
import { SimulatedWorld } from "../../../protocol/src/simulated-world.fixture.ts";
import { httpResponse, record, startRawProvider } from "../fake-provider.fixture.ts";
import { ProviderClient } from "./provider-client.ts";

const options = { connectTimeoutMs: 2_000 };
const post = { method: "POST", path: "/chat/completions", body: [Buffer.from("{}")] };

test("sockets are reused, for whole bodies only", async () => {
  await using provider = await startRawProvider((socket, data) => {
    if (!data.includes("chunked") || data.includes("\r\n0\r\n")) socket.write(httpResponse("{}"));
  });
  await using client = new ProviderClient(options);
  await record(client, { ...post, baseUrl: provider.baseUrl }).closed;
  await record(client, { ...post, baseUrl: provider.baseUrl }).closed;
  expect(provider.sockets).toHaveLength(1);
});

test("a kept socket that turns out closed is replaced once, unnoticed", async () => {
  await using provider = await startRawProvider((socket, _data, index) => {
    if (index === 0) socket.write(httpResponse("{}"));
    else socket.resetAndDestroy();
  });
  await using client = new ProviderClient(options);
  await record(client, { ...post, baseUrl: provider.baseUrl }).closed;
  const got = record(client, { ...post, baseUrl: provider.baseUrl });
  await got.closed;
  expect(got.log).toEqual(["head", "data", "end", "closed"]);
  expect(provider.sockets).toHaveLength(2);
  expect(provider.received).toHaveLength(3);
});

test("a kept socket that closes later than 1 s after the request was sent had the request: it is not sent again", async () => {
  // The sockets are real, and with them the turns of the event loop.
  const world = Object.assign(new SimulatedWorld(), {
    setImmediate: (task: () => void) => systemWorld.setImmediate(task),
  });
  await using provider = await startRawProvider((socket, _data, index) => {
    if (index === 0 && provider.received.length === 1) socket.write(httpResponse("{}"));
    else void world.advance(1_001).then(() => socket.resetAndDestroy());
  });
  await using client = new ProviderClient({ ...options, world });
  await record(client, { ...post, baseUrl: provider.baseUrl }).closed;
  const got = record(client, { ...post, baseUrl: provider.baseUrl });
  await got.closed;
  expect(got.log).toEqual(["provider_disconnected", "closed"]);
  expect(provider.sockets).toHaveLength(1);
  expect(provider.received).toHaveLength(2);
});

test("the second try is the last", async () => {
  let isFirst = true;
  await using provider = await startRawProvider((socket) => {
    if (isFirst) socket.write(httpResponse("{}"));
    else socket.resetAndDestroy();
    isFirst = false;
  });
  await using client = new ProviderClient(options);
  await record(client, { ...post, baseUrl: provider.baseUrl }).closed;
  const got = record(client, { ...post, baseUrl: provider.baseUrl });
  await got.closed;
  expect(got.log).toEqual(["provider_disconnected", "closed"]);
  expect(provider.received).toHaveLength(3);
});

test("nothing is sent again once a byte of a response was seen, or on a fresh socket", async () => {
  await using provider = await startRawProvider((socket, _data, index) => {
    if (index === 0) socket.write(httpResponse("{}"));
    else socket.write("HTTP/1.1 2", () => socket.resetAndDestroy());
  });
  await using client = new ProviderClient(options);
  await record(client, { ...post, baseUrl: provider.baseUrl }).closed;
  const got = record(client, { ...post, baseUrl: provider.baseUrl });
  await got.closed;
  expect(got.log).toEqual(["provider_disconnected", "closed"]);
  expect(provider.received).toHaveLength(2);

  await using rude = await startRawProvider((socket) => socket.resetAndDestroy());
  const refused = record(client, { ...post, baseUrl: rude.baseUrl });
  await refused.closed;
  expect(refused.log).toEqual(["provider_disconnected", "closed"]);
  expect(rude.received).toHaveLength(1);
});

test("a request cancelled before it got its kept socket leaves nothing on it for the next one", async () => {
  const head = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n";
  await using provider = await startRawProvider((socket) => {
    socket.write(`${head}{ `, () => setImmediate(() => socket.write(" }")));
  });
  await using client = new ProviderClient(options);
  await record(client, { ...post, baseUrl: provider.baseUrl }).closed;
  const cancelled = record(client, { ...post, baseUrl: provider.baseUrl });
  cancelled.call.cancel();
  await cancelled.closed;
  const next = record(client, { ...post, baseUrl: provider.baseUrl });
  await next.closed;
  expect(next.log.at(-2)).toBe("end");
  expect(next.body).toBe("{  }");
});

test("bytes on an idle socket never become the next response", async () => {
  await using provider = await startRawProvider((socket) => socket.write(httpResponse("{}")));
  await using client = new ProviderClient(options);
  await record(client, { ...post, baseUrl: provider.baseUrl }).closed;
  const [socket] = provider.sockets;
  const closed = once(socket!, "close");
  socket!.write(httpResponse('{"poison":1}'));
  await closed;
  const got = record(client, { ...post, baseUrl: provider.baseUrl });
  await got.closed;
  expect(got.body).toBe("{}");
  expect(provider.sockets).toHaveLength(2);
});

test("bytes after the end of a response do not reach the next one", async () => {
  await using provider = await startRawProvider((socket, _data, index) => {
    socket.write(httpResponse("{}") + (index === 0 ? httpResponse('{"poison":1}') : ""));
  });
  await using client = new ProviderClient(options);
  await record(client, { ...post, baseUrl: provider.baseUrl }).closed;
  const got = record(client, { ...post, baseUrl: provider.baseUrl });
  await got.closed;
  expect(got.body).toBe("{}");
});

test.concurrent("an idle socket is closed after 4 s", async () => {
  await using provider = await startRawProvider((socket) => socket.write(httpResponse("{}")));
  await using client = new ProviderClient(options);
  await record(client, { ...post, baseUrl: provider.baseUrl }).closed;
  const [socket] = provider.sockets;
  const beganMs = performance.now();
  await once(socket!, "close");
  const idleMs = performance.now() - beganMs;
  expect(idleMs).toBeGreaterThan(3_000);
  expect(idleMs).toBeLessThan(4_900);
});

test.concurrent("a silent response is not cut by the idle limit of the pool", async () => {
  await using provider = await startRawProvider((socket) => {
    setTimeout(() => socket.write(httpResponse("{}")), 4_300);
  });
  await using client = new ProviderClient(options);
  const got = record(client, { ...post, baseUrl: provider.baseUrl });
  await got.closed;
  expect(got.body).toBe("{}");
});
