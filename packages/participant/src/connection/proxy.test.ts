import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import type { Duplex } from "node:stream";
import { expect, test, vi } from "vitest";
import { send, startFakeHub } from "../fake-hub.fixture.ts";
import { startFakeModelServer } from "../fake-model-server.fixture.ts";
import { type ProxyEnvironment, proxyUrlFor, createProxyFetch } from "./proxy.ts";
import { createTestParticipant, startWith } from "../test-participant.fixture.ts";

const env = { HTTPS_PROXY: "http://s:1", HTTP_PROXY: "p:2", NO_PROXY: "" };
const table: [url: string, env: ProxyEnvironment, proxy: string | undefined][] = [
  ["https://hub.example", env, "http://s:1"],
  ["wss://hub.example", env, "http://s:1"],
  ["ws://hub.example", env, "http://p:2"],
  ["http://hub.example", env, "http://p:2"],
  ["http://hub.example", {}, undefined],
  ["http://hub.example", { http_proxy: "http://low:3", HTTP_PROXY: "up:4" }, "http://low:3"],
  ["http://hub.example", { HTTP_PROXY: "" }, undefined],
  ["http://localhost:5050", env, undefined],
  ["ws://127.0.0.1:5050", env, undefined],
  ["ws://[::1]:5050", env, undefined],
  ["wss://hub.example", { ...env, NO_PROXY: "*" }, undefined],
  ["wss://hub.example", { ...env, NO_PROXY: "a,hub.example" }, undefined],
  ["wss://hub.example", { ...env, no_proxy: ".example" }, undefined],
  ["wss://hub.example", { ...env, no_proxy: "*.example" }, undefined],
  ["wss://Hub.Example", { ...env, no_proxy: "EXAMPLE" }, undefined],
  ["wss://hub.example", { ...env, no_proxy: "ub.example" }, "http://s:1"],
  ["wss://hub.example", { ...env, no_proxy: "hub.example:443" }, undefined],
  ["wss://hub.example:8443", { ...env, no_proxy: "hub.example:443" }, "http://s:1"],
  ["ws://10.0.0.7", { ...env, no_proxy: "10.0.0.7 other" }, undefined],
  ["ws://[fd00::1]", { ...env, no_proxy: "[fd00::1]" }, undefined],
];
for (const [url, environment, proxy] of table) {
  test(`${url} with ${JSON.stringify(environment)} goes ${proxy ?? "directly"}`, () => {
    expect(proxyUrlFor(new URL(url), environment)).toBe(proxy);
  });
}

const portal = "<h1>Sign in first</h1>";

/**
 * A CONNECT proxy that leads everywhere to one port.
 *
 * @param whims - what it does with the first connections: `hang` never responds, `refuse` speaks for itself
 */
async function startProxy(port: number, whims: readonly ("hang" | "refuse" | "lead")[] = []) {
  const connects: string[] = [];
  const sockets: Duplex[] = [];
  const hung: Duplex[] = [];
  const proxy = createServer();
  proxy.on("connect", (request, socket) => {
    const whim = whims[connects.length];
    connects.push(request.url ?? "");
    socket.on("error", () => {});
    if (whim === "hang") {
      hung.push(socket.resume());
      socket.on("end", () => socket.destroy());
      return;
    }
    if (whim === "refuse") {
      socket.end(`HTTP/1.1 403 No\r\ncontent-length: ${portal.length}\r\n\r\n${portal}`);
      return;
    }
    const onward = connect(port, "127.0.0.1");
    sockets.push(socket, onward);
    onward.on("error", () => {});
    socket.write("HTTP/1.1 200 OK\r\n\r\n");
    onward.pipe(socket).pipe(onward);
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  return {
    connects,
    hung,
    env: { http_proxy: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` },
    async [Symbol.asyncDispose]() {
      for (const socket of [...sockets, ...hung]) socket.destroy();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}

test("calls to the hub go through the proxy with CONNECT", async () => {
  await using hub = await startFakeHub();
  await using proxy = await startProxy(hub.port);
  const respond = await createProxyFetch(proxy.env)("http://hub.example/rooms/X/leave", {
    method: "POST",
    headers: { "x-participant-token": "t" },
    body: "{}",
  });
  expect(await respond.json()).toEqual({ success: true });
  expect(proxy.connects).toEqual(["hub.example:80"]);
  expect(hub.calls[0]).toMatchObject({ method: "POST", body: "{}", token: "t" });
});

test("a participant behind a proxy joins and dials through it, and calls its provider directly", async () => {
  await using hub = await startFakeHub();
  await using proxy = await startProxy(hub.port);
  await using model = await startFakeModelServer((response) => response.end("{}"));
  hub.tunnelUrl = "ws://hub.example:5050/v1/rooms/ABC234/participants/ana/tunnel";
  const { env } = proxy;
  const over = { hubUrl: "http://hub.example:5050", env };
  await using ana = createTestParticipant(hub, model.endpoint, over);
  const exchange = send(await startWith(hub, ana));
  await exchange.closed;
  expect(exchange.body).toBe("{}");
  expect(proxy.connects).toEqual(["hub.example:5050", "hub.example:5050"]);
});

test("an invalid proxy is reported and retried", async () => {
  const hub = { url: "http://hub.example" };
  await using ana = createTestParticipant(hub, "http://127.0.0.1:9", {
    env: { http_proxy: "http://" },
  });
  const started = ana.participant.start();
  await vi.waitFor(() => expect(ana.kinds()).toContain("disconnected"));
  await ana.participant.close();
  await expect(started).rejects.toMatchObject({ code: "closed" });
});

test("an aborted call closes its connection to an unresponsive proxy", async () => {
  await using proxy = await startProxy(9, ["hang"]);
  const call = new AbortController();
  const failure = createProxyFetch(proxy.env)("http://hub.example/", { signal: call.signal });
  await vi.waitFor(() => expect(proxy.hung).toHaveLength(1));
  call.abort();
  await expect(failure).rejects.toThrow(/abort/);
  await vi.waitFor(() => expect(proxy.hung[0]?.destroyed).toBe(true));
});

for (const [what, whims] of [
  ["at first never responds", ["hang", "lead", "hang"]],
  ["refuses the dial for a while", ["lead", "refuse", "refuse"]],
] as const) {
  test(`a participant behind a proxy that ${what} tries again until it is connected`, async () => {
    await using hub = await startFakeHub();
    await using proxy = await startProxy(hub.port, whims);
    hub.tunnelUrl = "ws://hub.example:5050/v1/rooms/ABC234/participants/ana/tunnel";
    await using ana = createTestParticipant(hub, "http://127.0.0.1:9", {
      hubUrl: "http://hub.example:5050",
      env: proxy.env,
      timing: { hubCallMs: 200, dialMs: 200 },
    });
    await ana.participant.start();
    expect(proxy.connects.length).toBeGreaterThan(whims.length);
    await vi.waitFor(() => expect(proxy.hung.every(({ destroyed }) => destroyed)).toBe(true));
  });
}
