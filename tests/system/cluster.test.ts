import type { ParticipantSummary } from "@roomhub/protocol";
import { describe, expect, test } from "vitest";
import { join, joinDirect, joinTunnel } from "../support/hub/joining.ts";
import { startCluster, type TestCluster } from "../support/hub/start-cluster.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";

interface Listing {
  participants: ParticipantSummary[];
}

/** Resolves once every hub lists the participant, and the last one has it as wanted. */
async function listedEverywhere(
  cluster: TestCluster,
  code: string,
  isWanted: (participant: ParticipantSummary) => boolean = () => true,
): Promise<void> {
  await cluster.everywhere(`/rooms/${code}/participants`, ({ participants }: Listing) =>
    participants.some(isWanted),
  );
}

describe("rooms", () => {
  test("are known to every hub as soon as one has confirmed them", async () => {
    await using cluster = await startCluster(2);
    const [one, other] = cluster.hubs;
    const code = await one!.createRoom();
    expect((await other!.fetch(`/rooms/${code}`)).status).toBe(200);
    expect((await other!.fetch(`/rooms/${code}/v1/models`)).status).toBe(200);
  });

  test("are known to a hub that comes later, with their passwords", async () => {
    await using cluster = await startCluster(1);
    const [one] = cluster.hubs;
    const code = await one!.createRoom("swordfish");
    const late = await cluster.add();
    await expect(
      joinDirect(late, code, { endpoint: "http://127.0.0.1:1", password: "wrong" }),
    ).rejects.toMatchObject({ code: "invalid_password" });
    await joinDirect(late, code, { endpoint: "http://127.0.0.1:1", password: "swordfish" });
  });

  test("are announced to the watchers of all rooms at every hub, once", async () => {
    await using cluster = await startCluster(2);
    const [one, other] = cluster.hubs;
    const watched = await other!.watch(undefined);
    const code = await one!.createRoom();
    await watched.waitFor("room.created", () => watched.of("room.created").length > 0);
    await other!.createRoom();
    await watched.waitFor("the second", () => watched.of("room.created").length > 1);
    expect(watched.of("room.created").map(({ data }) => data["roomCode"])[0]).toBe(code);
  });
});

describe("participants", () => {
  test("are listed at every hub as at the one they joined", async () => {
    await using provider = await startFakeProvider();
    await using cluster = await startCluster(3);
    const [one, , last] = cluster.hubs;
    const code = await one!.createRoom();
    await using _ada = await joinTunnel(one!, code, { endpoint: provider.url });
    await listedEverywhere(cluster, code, ({ connection }) => connection.readiness === "ready");
    const [seen] = await last!.client.listParticipants(code);
    const [own] = await one!.client.listParticipants(code);
    expect(seen).toEqual({ ...own, lastSeen: expect.any(Number), connection: seen?.connection });
    expect(seen?.connection).toMatchObject({ connected: true, path: "tunnel", readiness: "ready" });
  });

  test("cannot take an id that another hub has given", async () => {
    await using cluster = await startCluster(2, { publicUrl: "http://hub.example" });
    const [one, other] = cluster.hubs;
    const code = await one!.createRoom();
    const joins = await Promise.allSettled(
      cluster.hubs.map((hub) => joinDirect(hub, code, { endpoint: "http://10.0.0.1:1" })),
    );
    expect(joins.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const refused = joins.find((join) => join.status === "rejected");
    expect(refused?.reason).toMatchObject({ code: "participant_id_taken" });
    await listedEverywhere(cluster, code);
    expect(await other!.client.listParticipants(code)).toHaveLength(1);
  });

  test("are served by their hub wherever their heartbeat, change or leave arrives", async () => {
    await using cluster = await startCluster(2);
    const [one, other] = cluster.hubs;
    const code = await one!.createRoom();
    await joinDirect(one!, code, { endpoint: "http://10.0.0.1:1" });
    await listedEverywhere(cluster, code);
    const beat = await other!.fetch(`/rooms/${code}/health`, { json: { id: "ada" } });
    expect([beat.status, await beat.json()]).toMatchObject([200, { status: "online" }]);
    const change = await other!.fetch(`/v1/rooms/${code}/participants/ada`, {
      method: "PUT",
      body: JSON.stringify({ nickname: "Ada L." }),
    });
    expect(change.status).toBe(200);
    await listedEverywhere(cluster, code, ({ nickname }) => nickname === "Ada L.");
    expect((await other!.fetch(`/rooms/${code}/leave/ada`, { method: "DELETE" })).status).toBe(200);
    await cluster.everywhere(
      `/rooms/${code}/participants`,
      ({ participants }: Listing) => participants.length === 0,
    );
  });

  test("move to the hub where they prove their token", async () => {
    await using provider = await startFakeProvider();
    await using cluster = await startCluster(2);
    const [one, other] = cluster.hubs;
    const code = await one!.createRoom();
    const { answer } = await joinDirect(one!, code, {
      ...{ endpoint: provider.url, config: { instructions: "Be brief." } },
    });
    await listedEverywhere(cluster, code);
    const events = await one!.watch(code);
    const again = await other!.fetch(`/rooms/${code}/join`, {
      json: { id: "ada", nickname: "Ada", model: "fake-model", endpoint: provider.url },
      headers: { authorization: `Bearer ${answer.participantToken}` },
    });
    expect(again.status).toBe(200);
    await events.waitFor("the update", () => events.of("participant.updated").length > 0);
    expect(events.of("participant.joined")).toEqual([]);
    expect(events.of("participant.left")).toEqual([]);
  });
});

describe("events", () => {
  test("of a participant reach the watchers at every hub once, with what its entry says", async () => {
    await using provider = await startFakeProvider();
    await using cluster = await startCluster(2);
    const [one, other] = cluster.hubs;
    const code = await one!.createRoom();
    const [here, there] = [await one!.watch(code), await other!.watch(code)];
    await using ada = await joinTunnel(one!, code, { endpoint: provider.url });
    await listedEverywhere(cluster, code, ({ connection }) => connection.readiness === "ready");
    await ada.agent.close();
    for (const events of [here, there]) {
      await events.waitFor("the leave", () => events.of("participant.left").length > 0);
    }
    const names = (events: typeof here) =>
      events.events.map(({ name }) => name).filter((name) => name !== "room.created");
    expect(names(there)).toEqual(names(here));
  });
});

describe("requests", () => {
  test.each(["tunnel", "direct"] as const)(
    "reach a participant through any hub: %s, streaming and not, with one start and one end",
    async (path) => {
      await using provider = await startFakeProvider();
      await using cluster = await startCluster(2);
      const [one, other] = cluster.hubs;
      const code = await one!.createRoom();
      await using _ada = await join(path, one!, code, { endpoint: provider.url });
      await listedEverywhere(cluster, code, ({ connection }) => connection.readiness === "ready");
      await cluster.linked();
      const events = await one!.watch(code);
      for (const stream of [false, true]) {
        const json = { model: "ada", messages: [{ role: "user", content: "hello" }], stream };
        const response = await other!.fetch(`/rooms/${code}/v1/chat/completions`, { json });
        expect([response.status, await response.text()]).toMatchObject([200, expect.any(String)]);
      }
      await events.waitFor("the ends", () => events.of("llm.complete").length === 2);
      expect(events.of("llm.request")).toHaveLength(2);
      expect(events.of("llm.error")).toEqual([]);
      expect(provider.requests.filter(({ path }) => path.endsWith("/completions"))).toHaveLength(2);
    },
  );
});

test("requests of clients at other hubs are listed at each of them", async () => {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  await using provider = await startFakeProvider({ behave: () => ({ kind: "normal", gate }) });
  await using cluster = await startCluster(2);
  const [one, other] = cluster.hubs;
  const code = await one!.createRoom();
  await using _ada = await joinTunnel(one!, code, { endpoint: provider.url });
  await listedEverywhere(cluster, code, ({ connection }) => connection.readiness === "ready");
  await cluster.linked();
  const events = await one!.watch(code);
  const json = { model: "ada", messages: [], stream: true };
  const response = other!.fetch(`/rooms/${code}/v1/chat/completions`, { json });
  await events.waitFor("its start", () => events.of("llm.request").length === 1);
  const listed = await one!.fetch(`/rooms/${code}/requests`);
  expect(await listed.json()).toMatchObject({ requests: [{ participantId: "ada" }] });
  open();
  await (await response).text();
  await events.waitFor("its end", () => events.of("llm.complete").length === 1);
});
