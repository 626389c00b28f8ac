import { systemWorld } from "@roomhub/protocol";
import { once } from "node:events";
import { expect, test } from "vitest";
import { httpResponse, record, startRawProvider } from "../fake-provider.fixture.ts";
import { createLookup } from "./lookup.ts";
import { ProviderClient } from "./provider-client.ts";
import { dialOptions, SocketPool } from "./socket-pool.ts";
import { parseTarget } from "./target.ts";

const lookup = createLookup(undefined);
const nobody = { onConnected() {}, onData() {}, onDrain() {}, onEnd() {}, onClosed() {} };

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
  const pool = new SocketPool(lookup, systemWorld);
  const [first, second] = [pool.take(target, nobody), pool.take(target, nobody)];
  await Promise.all([first, second].map(({ socket }) => once(socket, "connect")));
  pool.keep(target, first);
  pool.keep(target, second);
  expect(pool.take(other, nobody).isReused).toBe(false);
  expect([pool.take(target, nobody), pool.take(target, nobody)]).toEqual([second, first]);
  expect([first.isReused, second.isReused]).toEqual([true, true]);
  expect(pool.take(target, nobody).isReused).toBe(false);
  pool.keep(target, first);
  pool.close();
  pool.keep(target, second);
  expect([first.socket.destroyed, second.socket.destroyed]).toEqual([true, true]);
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
  const pool = new SocketPool(lookup, systemWorld);
  const taken = Array.from({ length: 257 }, () => pool.take(target, nobody));
  await Promise.all(taken.map(({ socket }) => once(socket, "connect")));
  for (const socket of taken) pool.keep(target, socket);
  expect(taken.filter(({ socket }) => socket.destroyed)).toEqual([taken[256]]);
  pool.close();
});
