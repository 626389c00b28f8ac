import type { ParticipantSummary } from "@roomhub/protocol";
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { expect, test } from "vitest";
import { userSays } from "../support/clients/openai-client.ts";
import { joinTunnel } from "../support/hub/joining.ts";
import { type ClusterHub, startCluster } from "../support/hub/start-cluster.ts";
import { startFakeProvider, type FakeProviderOptions } from "../support/providers/fake-provider.ts";
import { createGate, until } from "../support/waiting.ts";

/** One address for all hubs: a connection goes to the first of them that accepts it. */
async function startIngress(hubs: readonly ClusterHub[]) {
  const server = createServer((client) => {
    client.on("error", () => client.destroy());
    const dial = ([first, ...others]: readonly ClusterHub[]) => {
      if (first === undefined) return void client.destroy();
      const hub = connect(first.port, "127.0.0.1");
      hub.once("error", () => dial(others));
      hub.once("connect", () => {
        client.pipe(hub).pipe(client);
        hub.removeAllListeners("error").on("error", () => client.destroy());
        hub.on("close", () => client.destroy());
        client.on("close", () => hub.destroy());
      });
    };
    dial(hubs);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, [Symbol.asyncDispose]: async () => void server.close() };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** Ada reaches no hub but by the ingress, which leads to the first one; the room's home is the last one. */
async function behindIngress(behave?: FakeProviderOptions["behave"]) {
  const stack = new AsyncDisposableStack();
  const provider = stack.use(await startFakeProvider(behave === undefined ? {} : { behave }));
  const cluster = stack.use(await startCluster(0, { limits: { drainMs: 5_000 } }));
  for (const nowhere of [1, 2, 3]) {
    const port = await freePort();
    const advertiseUrl = `http://127.0.0.1:${nowhere}`;
    await cluster.add({ port, cluster: { advertiseUrl, linkUrl: `http://127.0.0.1:${port}` } });
  }
  const [entry, , home] = cluster.hubs as [ClusterHub, ClusterHub, ClusterHub];
  const code = await home.createRoom();
  await home.fetch(`/rooms/${code}/participants`);
  await cluster.linked();
  const ingress = stack.use(await startIngress(cluster.hubs));
  const notices: string[] = [];
  const onNotice = ({ kind }: { kind: string }) => void notices.push(kind);
  const ada = stack.use(await joinTunnel(ingress, code, { endpoint: provider.url, onNotice }));
  const chat = (stream: boolean) =>
    home.fetch(`/rooms/${code}/v1/chat/completions`, {
      json: { model: "ada", messages: userSays("a b c d"), stream },
    });
  const connection = async () => {
    const response = await home.fetch(`/v1/rooms/${code}/participants/ada`);
    return ((await response.json()) as { participant: ParticipantSummary }).participant.connection;
  };
  await until("ada's tunnel", connection, ({ connected }) => connected);
  return {
    ...{ entry, home, chat, connection, notices, agent: ada.agent, provider },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

test("a stream goes on when the hub stops that its tunnel is piped through", async () => {
  const gate = createGate();
  await using it = await behindIngress(() => ({
    kind: "normal",
    gate: gate.opened,
    gateAfterChunks: 1,
  }));
  const response = await it.chat(true);
  expect(response.status).toBe(200);
  expect(await it.entry.hub.close()).toEqual({ cut: 0 });
  await until(
    "the session elsewhere",
    () => it.notices,
    (kinds) => kinds.includes("resumed"),
  );
  gate.open();
  const text = await response.text();
  expect(text.trimEnd().endsWith("data: [DONE]")).toBe(true);
  expect(text).not.toContain("error");
  expect(it.provider.requests.filter(({ path }) => path.endsWith("/completions"))).toHaveLength(1);
});

test("no request fails when the hub stops that an idle tunnel is piped through", async () => {
  await using it = await behindIngress();
  const isBack = () => it.notices.filter((kind) => /^(?:connected|resumed)$/.test(kind)).length > 1;
  await it.entry.hub.close();
  await until(
    "the end of the connection",
    () => it.notices,
    (kinds) => kinds.includes("disconnected"),
  );
  const statuses: number[] = [];
  while (!isBack()) {
    const response = await it.chat(statuses.length % 2 === 0);
    await response.text();
    statuses.push(response.status);
  }
  expect(new Set(statuses)).toEqual(new Set([200]));
  expect(it.agent.state).toBe("connected");
});
