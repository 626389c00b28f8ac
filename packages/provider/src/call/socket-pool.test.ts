import { once } from "node:events";
import { expect, test } from "vitest";
import { httpResponse, record, startRawProvider } from "../fake-provider.fixture.ts";
import { createLookup } from "./lookup.ts";
import { ProviderClient } from "./provider-client.ts";
import { dialOptions, SocketPool } from "./socket-pool.ts";
import { parseTarget } from "./target.ts";

const lookup = createLookup(undefined);

test("dialling gives each address the time to lose its first packet, and probes a silent provider", () => {
  expect(dialOptions(parseTarget("http://localhost:1/v1"), lookup)).toMatchObject({
    ...{ host: "localhost", port: 1, lookup, noDelay: true },
    ...{ keepAlive: true, keepAliveInitialDelay: 1_000 },
    ...{ autoSelectFamily: true, autoSelectFamilyAttemptTimeout: 3_000 },
  });
});

test("a socket is kept for its target alone, and the one that was used last is taken first", async () => {
  await using provider = await startRawProvider(() => {});
  const [target, other] = ["v1", "v2"].map((path) =>
    parseTarget(`http://127.0.0.1:${provider.port}/${path}`),
  ) as [ReturnType<typeof parseTarget>, ReturnType<typeof parseTarget>];
  const pool = new SocketPool(lookup);
  const [first, second] = [pool.take(target), pool.take(target)];
  await Promise.all([first, second].map(({ socket }) => once(socket, "connect")));
  // What Node's request says when its response is whole.
  for (const { socket } of [first, second]) socket.emit("free");
  expect(pool.take(other).isReused).toBe(false);
  expect([pool.take(target), pool.take(target)]).toEqual([second, first]);
  expect([first.isReused, second.isReused]).toEqual([true, true]);
  expect(pool.take(target).isReused).toBe(false);
  for (const { socket } of [first, second]) socket.emit("free");
  pool.close();
  expect([first.socket.destroyed, second.socket.destroyed]).toEqual([true, true]);
});

test("a socket whose request was cancelled before it was connected is closed", async () => {
  await using provider = await startRawProvider(() => {});
  const pool = new SocketPool(lookup);
  const { socket } = pool.take(parseTarget(provider.baseUrl));
  socket.emit("free");
  expect(socket.destroyed).toBe(true);
});

test("a socket that the provider closes while it is idle is not taken", async () => {
  await using provider = await startRawProvider((socket) => socket.write(httpResponse("{}")));
  await using client = new ProviderClient({ connectTimeoutMs: 2_000 });
  const post = { method: "POST", body: [Buffer.from("{}")], baseUrl: provider.baseUrl };
  await record(client, post).closed;
  const closed = once(provider.sockets[0]!, "close");
  provider.sockets[0]?.end();
  await closed;
  await record(client, post).closed;
  expect(provider.sockets).toHaveLength(2);
  expect(provider.received).toHaveLength(2);
});

test("of many sockets that become idle at once 256 are kept", async () => {
  await using provider = await startRawProvider(() => {});
  const target = parseTarget(provider.baseUrl);
  const pool = new SocketPool(lookup);
  const taken = Array.from({ length: 257 }, () => pool.take(target));
  await Promise.all(taken.map(({ socket }) => once(socket, "connect")));
  for (const { socket } of taken) socket.emit("free");
  expect(taken.filter(({ socket }) => socket.destroyed)).toEqual([taken[256]]);
  pool.close();
});
