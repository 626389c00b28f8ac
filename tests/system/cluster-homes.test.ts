import type { ParticipantSummary } from "@roomhub/protocol";
import { describe, expect, test } from "vitest";
import { userSays } from "../support/clients/openai-client.ts";
import { joinDirect, joinTunnel } from "../support/hub/joining.ts";
import {
  type ClusterHub,
  type ClusterHubOptions,
  startCluster,
} from "../support/hub/start-cluster.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { createGate, until } from "../support/waiting.ts";

/** Hubs of which one is the home of each room. */
async function startHomes(count: number, options: ClusterHubOptions = {}) {
  const cluster = await startCluster(count, options);
  return Object.assign(cluster, {
    hubs: cluster.hubs as [ClusterHub, ClusterHub, ...ClusterHub[]],
  });
}

async function participantsAt(hub: ClusterHub, code: string): Promise<ParticipantSummary[]> {
  const response = await hub.fetch(`/rooms/${code}/participants`);
  return ((await response.json()) as { participants: ParticipantSummary[] }).participants;
}

async function ready(hub: ClusterHub, code: string): Promise<void> {
  await until(
    "a participant that is ready",
    () => participantsAt(hub, code).catch(() => []),
    (all) => all.some(({ connection }) => connection.readiness === "ready" && connection.connected),
  );
}

function chat(hub: ClusterHub, code: string, stream = false, signal?: AbortSignal) {
  const json = { model: "ada", messages: userSays("a b c d"), stream };
  return hub.fetch(`/rooms/${code}/v1/chat/completions`, {
    json,
    ...(signal === undefined ? {} : { signal }),
  });
}

describe("a room", () => {
  test("is run by one hub, whichever of them is asked", async () => {
    await using provider = await startFakeProvider();
    await using cluster = await startHomes(3);
    const [one, other, third] = cluster.hubs;
    const code = await one.createRoom();
    await using _ada = await joinTunnel(other, code, { endpoint: provider.url });
    await ready(one, code);
    await cluster.linked();
    const events = await Promise.all(cluster.hubs.map((hub) => hub.watch(code)));
    for (const hub of [one, other, third!]) {
      for (const stream of [false, true]) {
        const response = await chat(hub, code, stream);
        expect([response.status, await response.text()]).toMatchObject([200, expect.any(String)]);
      }
    }
    for (const each of events) {
      await each.waitFor("all ends", () => each.of("llm.complete").length === 6);
    }
    const [first, ...others] = events.map((each) =>
      each.events.filter(({ kind }) => kind !== "room.created").map(({ id, name }) => [id, name]),
    );
    for (const each of others) expect(each).toEqual(first);
  });

  test("takes a participant under an id once, at whichever hubs two ask for it", async () => {
    await using cluster = await startHomes(2, { publicUrl: "http://hub.example" });
    const code = await cluster.hubs[0].createRoom();
    const joins = await Promise.allSettled(
      cluster.hubs.map((hub) => joinDirect(hub, code, { endpoint: "http://10.0.0.1:1" })),
    );
    expect(joins.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(joins.find(({ status }) => status === "rejected")).toMatchObject({
      reason: { code: "participant_id_taken" },
    });
  });

  test("counts guesses of its password together, at whichever hubs they are made", async () => {
    await using cluster = await startHomes(3);
    const code = await cluster.hubs[0].createRoom("swordfish");
    const statuses: number[] = [];
    for (let n = 0; n < 18; n++) {
      const hub = cluster.hubs[n % 3]!;
      const json = { id: "ada", nickname: "Ada", model: "m", endpoint: "http://10.0.0.1:1" };
      const response = await hub.fetch(`/rooms/${code}/join`, {
        json: { ...json, password: `wrong-${n}` },
      });
      statuses.push(response.status);
    }
    const alone = await cluster.hubs[0].createRoom("swordfish");
    const atOne: number[] = [];
    for (let n = 0; n < 18; n++) {
      const response = await cluster.hubs[0].fetch(`/rooms/${alone}/join`, {
        json: {
          id: "a",
          nickname: "A",
          model: "m",
          endpoint: "http://10.0.0.1:1",
          password: `${n}`,
        },
      });
      atOne.push(response.status);
    }
    expect(statuses).toEqual(atOne);
    expect(statuses).toContain(429);
  });

  test("changes its aliases one after the other, at whichever hubs they are changed", async () => {
    await using cluster = await startHomes(2);
    const created = await cluster.hubs[0].fetch("/rooms", { json: { name: "lab" } });
    const { room, hostToken } = (await created.json()) as {
      room: { code: string };
      hostToken: string;
    };
    const changes = Array.from({ length: 6 }, (_, n) =>
      cluster.hubs[n % 2]!.fetch(`/rooms/${room.code}/aliases`, {
        json: { pattern: `gpt-${n}*`, targets: ["any"] },
        headers: { authorization: `Bearer ${hostToken}` },
      }),
    );
    const statuses = (await Promise.all(changes)).map(({ status }) => status);
    expect(statuses).toEqual([201, 201, 201, 201, 201, 201]);
    const listed = await cluster.hubs[1].fetch(`/rooms/${room.code}/aliases`);
    expect(((await listed.json()) as { aliases: unknown[] }).aliases).toHaveLength(6);
  });
});

describe("a request that is piped", () => {
  test("is cancelled at the provider when its client leaves, and ends once", async () => {
    const gate = createGate();
    await using provider = await startFakeProvider({
      behave: () => ({ kind: "normal", gate: gate.opened, gateAfterChunks: 1 }),
    });
    await using cluster = await startHomes(2);
    const [one, other] = cluster.hubs;
    const code = await one.createRoom();
    await using _ada = await joinTunnel(one, code, { endpoint: provider.url });
    await ready(one, code);
    const events = await one.watch(code);
    const abort = new AbortController();
    const response = await chat(other, code, true, abort.signal);
    expect(response.status).toBe(200);
    abort.abort();
    await events.waitFor("its end", () => events.of("llm.error").length === 1);
    expect(events.of("llm.error")[0]?.data).toMatchObject({
      code: "client_disconnected",
    });
    await provider.waitFor(({ aborted }) => aborted === 1);
    gate.open();
  });

  test("passes a long response whole to a slow reader", async () => {
    await using provider = await startFakeProvider();
    await using cluster = await startHomes(2);
    const [one, other] = cluster.hubs;
    const code = await one.createRoom();
    await using _ada = await joinTunnel(one, code, { endpoint: provider.url });
    await ready(one, code);
    const words = Array.from({ length: 20_000 }, (_, n) => `word-${n}`).join(" ");
    const json = { model: "ada", messages: userSays(words), stream: true };
    const response = await other.fetch(`/rooms/${code}/v1/chat/completions`, { json });
    let text = "";
    const decoder = new TextDecoder();
    for await (const chunk of response.body!) {
      text += decoder.decode(chunk, { stream: true });
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(text.trimEnd().endsWith("data: [DONE]")).toBe(true);
    expect(text).toContain("word-19999");
  });

  test("is refused as the home refuses it", async () => {
    await using cluster = await startHomes(2);
    const [one, other] = cluster.hubs;
    const code = await one.createRoom();
    await one.fetch(`/rooms/${code}/participants`);
    for (const hub of [one, other]) {
      const response = await chat(hub, code);
      expect([response.status, await response.json()]).toMatchObject([
        404,
        { error: { code: "model_not_found" } },
      ]);
      expect(response.headers.get("x-request-id")).toMatch(/^req_/);
    }
  });

  test("says nothing to the home under the name of the header that hubs use", async () => {
    await using cluster = await startHomes(2);
    const [one, other] = cluster.hubs;
    const code = await one.createRoom();
    await one.fetch(`/rooms/${code}/participants`);
    const response = await other.fetch(`/rooms/${code}`, {
      headers: { "x-roomhub-peer": '{"requestId":"req_forged"}', connection: "x-roomhub-peer" },
    });
    expect(response.status).toBe(200);
    expect(response.headers.get("x-request-id")).not.toBe("req_forged");
  });
});

describe("a home that stops in order", () => {
  test("is followed by another, where its participants are back before they are offline", async () => {
    await using provider = await startFakeProvider();
    await using cluster = await startHomes(3, { limits: { drainMs: 100 } });
    const [one, other, third] = cluster.hubs;
    const code = await one.createRoom();
    await using ada = await joinTunnel(one, code, { endpoint: provider.url });
    await ready(other, code);
    await cluster.linked();
    await one.hub.close();
    const events = await third!.watch(code);
    await ready(other, code);
    expect(ada.agent.state).toBe("connected");
    for (const hub of [other, third!]) expect((await chat(hub, code)).status).toBe(200);
    await events.waitFor("the ends", () => events.of("llm.complete").length === 2);
    expect(events.of("participant.offline")).toEqual([]);
    expect(events.of("participant.joined")).toEqual([]);
  });
});
