import { expect, test } from "vitest";
import { userSays } from "../support/clients/openai-client.ts";
import { joinDirect } from "../support/hub/joining.ts";
import { startCluster } from "../support/hub/start-cluster.ts";
import type { TestHub } from "../support/hub/start-test-hub.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";

interface Listed {
  aliases?: { pattern: string; targets: string[] }[];
}

function post(hub: TestHub, code: string, pattern: string, headers: Record<string, string> = {}) {
  const json = { pattern, targets: ["fake-model"] };
  return hub.fetch(`/v1/rooms/${code}/aliases`, { json, headers });
}

function has(...patterns: string[]) {
  return ({ aliases }: Listed) => aliases?.map(({ pattern }) => pattern).join() === patterns.join();
}

test("aliases of a room hold at every hub of a cluster, and each hub takes the room's host token", async () => {
  await using provider = await startFakeProvider();
  await using cluster = await startCluster(3, { trustProxy: ["127.0.0.1"] });
  await cluster.linked();
  const [first, second, third] = cluster.hubs;
  if (first === undefined || second === undefined || third === undefined) {
    throw new Error("the cluster has three hubs");
  }
  const { room, hostToken = "" } = await first.client.createRoom({ name: "lab" });
  const path = `/v1/rooms/${room.code}/aliases`;
  await cluster.everywhere(path, has());
  await joinDirect(first, room.code, { endpoint: provider.url });
  await cluster.everywhere(
    `/v1/rooms/${room.code}/participants`,
    ({ participants }: { participants: unknown[] }) => participants.length === 1,
  );

  const away = { "x-forwarded-for": "203.0.113.9" };
  expect((await post(second, room.code, "gpt-*", away)).status).toBe(403);
  expect(
    (await post(second, room.code, "gpt-*", { ...away, "x-host-token": hostToken })).status,
  ).toBe(201);
  await cluster.everywhere(path, has("gpt-*"));
  expect((await post(first, room.code, "claude-*")).status).toBe(201);
  await cluster.everywhere(path, has("gpt-*", "claude-*"));

  const events = await first.watch(room.code);
  const json = { model: "gpt-5", messages: userSays("hello") };
  const response = await third.fetch(`/rooms/${room.code}/v1/chat/completions`, { json });
  expect([response.status, response.headers.get("x-roomhub-participant")]).toEqual([200, "ada"]);
  const { data } = await events.next("llm.complete");
  expect(data).toMatchObject({ selector: "gpt-5", alias: "gpt-*", model: "fake-model" });

  const removed = await third.fetch(`${path}?pattern=gpt-*`, { method: "DELETE" });
  expect(removed.status).toBe(200);
  await cluster.everywhere(path, has("claude-*"));
});

test("a home that cannot reach the directory changes no alias, and those that it knows still hold", async () => {
  await using cluster = await startCluster(2);
  const [first, second] = cluster.hubs;
  if (first === undefined || second === undefined) throw new Error("the cluster has two hubs");
  const code = await first.createRoom();
  const path = `/v1/rooms/${code}/aliases`;
  await cluster.everywhere(path, has());
  await post(first, code, "claude-*");
  await cluster.everywhere(path, has("claude-*"));

  first.directory.cutOff();
  const refused = await post(second, code, "gpt-*");
  expect([refused.status, await refused.json()]).toMatchObject([
    503,
    { error: { code: "cluster_unavailable" } },
  ]);
  expect(has("claude-*")(await (await second.fetch(path)).json())).toBe(true);
});

test("changes of aliases at the same moment are made one after the other, whichever hub they enter at", async () => {
  await using cluster = await startCluster(2);
  const [first, second] = cluster.hubs;
  if (first === undefined || second === undefined) throw new Error("the cluster has two hubs");
  await cluster.linked();
  const code = await first.createRoom();
  await cluster.everywhere(`/v1/rooms/${code}/aliases`, has());
  const { directory } = first;
  const put = directory.putRoom.bind(directory);
  directory.putRoom = async (...entry) => {
    await new Promise(setImmediate);
    return put(...entry);
  };
  const patterns = Array.from({ length: 12 }, (_each, n) => `alias-${n}`);
  const responses = await Promise.all(
    patterns.map((pattern, n) => post(n % 2 === 0 ? first : second, code, pattern)),
  );
  expect(responses.map(({ status }) => status)).toEqual(patterns.map(() => 201));
  const stored = await second.directory.readRoom(code);
  const kept = stored?.room.aliases?.map(({ pattern }) => pattern);
  expect(new Set(kept)).toEqual(new Set(patterns));
});
