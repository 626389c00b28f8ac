import { expect, test } from "vitest";
import { joinTunnel } from "../support/hub/joining.ts";
import { type ClusterHub, startCluster } from "../support/hub/start-cluster.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";

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
