import type { HubEvent } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { joinTunnel } from "../support/hub/joining.ts";
import { type ClusterHub, startCluster } from "../support/hub/start-cluster.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { until } from "../support/waiting.ts";

test("whoever was greeted by the stream of one hub misses nothing that another hub does from then on", async () => {
  await using provider = await startFakeProvider();
  await using cluster = await startCluster(2);
  const [owner, other] = cluster.hubs as [ClusterHub, ClusterHub];
  const code = await owner.createRoom();
  await using _ada = await joinTunnel(owner, code, { endpoint: provider.url });
  await cluster.linked();
  for (let n = 1; n <= 20; n++) {
    // The last watcher of the room at this hub has left, and the other hub knows it or will soon.
    await using events = await other.watch(code);
    const response = await owner.fetch(`/rooms/${code}/v1/chat/completions`, {
      json: { model: "ada", messages: [{ role: "user", content: "hello" }] },
      headers: { "content-type": "application/json" },
    });
    expect(response.status).toBe(200);
    await response.arrayBuffer();
    await events.next("llm.complete");
    const seen = events.events.map(({ kind }) => kind).filter((kind) => kind !== "room.created");
    expect(seen).toEqual(["llm.request", "llm.complete"]);
  }
});

test("a program around a hub hears a room wherever its home is, each event once", async () => {
  await using provider = await startFakeProvider();
  await using cluster = await startCluster(2, { limits: { drainMs: 5_000 } });
  const [owner, other] = cluster.hubs as [ClusterHub, ClusterHub];
  const code = await owner.createRoom();
  await using _ada = await joinTunnel(owner, code, { endpoint: provider.url });
  await cluster.linked();
  const heard: HubEvent[] = [];
  const ends = () =>
    heard.flatMap((event) => (event.type === "llm.complete" ? [event.requestId] : []));
  other.hub.watch(code, (events) => heard.push(...events));
  const ask = async () => {
    const json = { model: "ada", messages: [{ role: "user", content: "hello" }] };
    const response = await other.fetch(`/rooms/${code}/v1/chat/completions`, { json });
    expect(response.status).toBe(200);
    await response.arrayBuffer();
    return ends();
  };
  await until("the first events of the home", ask, ({ length }) => length > 0);
  const before = ends().length;
  await ask();
  await until("the next one", ends, ({ length }) => length > before);
  await owner.hub.close();
  const moved = ends().length;
  await ask();
  await until("one that is served here", ends, ({ length }) => length > moved);
  expect(ends()).toEqual([...new Set(ends())]);
});
