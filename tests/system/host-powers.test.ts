import type { ParticipantNotice } from "@roomhub/participant";
import type { Room } from "@roomhub/protocol";
import { memoryRoomStore } from "@roomhub/hub";
import { expect, test } from "vitest";
import { userSays } from "../support/clients/openai-client.ts";
import { joinDirect, joinTunnel } from "../support/hub/joining.ts";
import { QUICK_SWEEP } from "../support/hub/manual-time.ts";
import { startCluster } from "../support/hub/start-cluster.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { createGate, until, within } from "../support/waiting.ts";

async function hostedRoom(hub: TestHub) {
  const { room, hostToken = "" } = await hub.client.createRoom({ name: "lab" });
  return { code: room.code, path: `/rooms/${room.code}`, headers: { "x-host-token": hostToken } };
}

function changed(hub: TestHub, path: string, headers: HeadersInit, body: object) {
  return hub.fetch(path, { method: "PUT", headers, body: JSON.stringify(body) });
}

async function codeOf(response: Response): Promise<string> {
  return ((await response.json()) as { error: { code: string } }).error.code;
}

test("a room that is deleted ends its requests and streams, and does not come back", async () => {
  const gate = createGate();
  await using provider = await startFakeProvider({
    behave: () => ({ kind: "normal", gate: gate.opened, gateAfterChunks: 2 }),
  });
  const store = memoryRoomStore();
  const hub = await startTestHub({ store });
  const { code, path, headers } = await hostedRoom(hub);
  await joinDirect(hub, code, { endpoint: provider.url });
  const events = await hub.watch(code);
  const json = { model: "*", messages: userSays("hi"), stream: true };
  const stream = await hub.fetch(`${path}/v1/chat/completions`, { json });
  expect((await hub.fetch(path, { method: "DELETE" })).status).toBe(403);
  expect((await hub.fetch(path, { method: "DELETE", headers })).status).toBe(200);
  expect(await within(stream.text(), "the end of the stream")).toContain('"room_not_found"');
  await events.waitFor("the end", ({ hasEnded }) => hasEnded);
  expect(events.events.map(({ kind }) => kind).slice(-2)).toEqual([
    "llm.error",
    "participant.left",
  ]);
  expect((await hub.fetch(path)).status).toBe(404);
  gate.open();
  await hub[Symbol.asyncDispose]();
  await using again = await startTestHub({ store });
  expect((await again.fetch(path)).status).toBe(404);
});

test("a new name and password of a room hold at every hub of a cluster, and a deletion does", async () => {
  await using cluster = await startCluster(2);
  await cluster.linked();
  const [first, second] = cluster.hubs;
  if (first === undefined || second === undefined) throw new Error("the cluster has two hubs");
  const { path, headers } = await hostedRoom(first);
  await cluster.everywhere("/rooms", ({ rooms }: { rooms: Room[] }) => rooms.length === 1);
  const change = { name: "new", password: "swordfish" };
  expect((await changed(second, path, headers, change)).status).toBe(200);
  await cluster.everywhere("/rooms", ({ rooms: [room] }: { rooms: Room[] }) => {
    return room?.name === "new" && room.passwordProtected;
  });
  const ada = { id: "ada", nickname: "Ada", model: "m", endpoint: "http://127.0.0.1:9/v1" };
  for (const hub of cluster.hubs) {
    expect(await codeOf(await hub.fetch(`${path}/join`, { json: ada }))).toBe("invalid_password");
  }
  const json = { ...ada, password: "swordfish" };
  expect((await second.fetch(`${path}/join`, { json })).status).toBe(201);
  expect((await second.fetch(path, { method: "DELETE", headers })).status).toBe(200);
  await cluster.everywhere("/rooms", ({ rooms }: { rooms: Room[] }) => rooms.length === 0);
  expect((await first.fetch(path)).status).toBe(404);
});

test("the agents of a deleted room stop and say so, whichever hub they dialled", async () => {
  await using provider = await startFakeProvider();
  await using cluster = await startCluster(2);
  await cluster.linked();
  const [first, second] = cluster.hubs;
  if (first === undefined || second === undefined) throw new Error("the cluster has two hubs");
  const { code, path, headers } = await hostedRoom(first);
  await cluster.everywhere("/rooms", ({ rooms }: { rooms: Room[] }) => rooms.length === 1);
  const notices: ParticipantNotice[] = [];
  const onNotice = (notice: ParticipantNotice) => void notices.push(notice);
  await using _ada = await joinTunnel(first, code, { endpoint: provider.url, onNotice });
  await using _bob = await joinTunnel(second, code, {
    ...{ id: "bob", endpoint: provider.url, onNotice },
  });
  expect((await second.fetch(path, { method: "DELETE", headers })).status).toBe(200);
  const stops = await until(
    "the end of both agents",
    () => notices.filter(({ kind }) => kind === "stopped"),
    (found) => found.length === 2,
  );
  const stop = {
    ...{ code: "room_not_found", reason: `Room ${code} was deleted.` },
    hint: "Ask its host for another one, or choose one: roomhub room list",
  };
  expect(stops).toMatchObject([stop, stop]);
});

test("the agent of a participant that was kicked stops", async () => {
  await using provider = await startFakeProvider();
  await using hub = await startTestHub();
  const { code, path, headers } = await hostedRoom(hub);
  const notices: ParticipantNotice[] = [];
  const onNotice = (notice: ParticipantNotice) => void notices.push(notice);
  await using _ada = await joinTunnel(hub, code, { endpoint: provider.url, onNotice });
  const kick = `${path}/participants/ada/kick`;
  expect((await hub.fetch(kick, { method: "POST" })).status).toBe(403);
  expect((await hub.fetch(kick, { method: "POST", headers })).status).toBe(200);
  await until(
    "the agent's end",
    () => notices,
    () => notices.some(({ kind }) => kind === "stopped"),
  );
  const { participants } = (await (await hub.fetch(`${path}/participants`)).json()) as {
    participants: object[];
  };
  expect(participants).toEqual([]);
});

test("the agent of a participant that was kicked from a closed room says who removed it", async () => {
  await using provider = await startFakeProvider();
  await using hub = await startTestHub({ closed: true });
  const { room, hostToken = "", key } = await hub.client.createRoom({ name: "lab" });
  const notices: ParticipantNotice[] = [];
  await using _ada = await joinTunnel(hub, room.code, {
    ...{ endpoint: provider.url, key: key?.value },
    onNotice: (notice) => void notices.push(notice),
  });
  const kick = `/rooms/${room.code}/participants/ada/kick?banMs=3600000`;
  const headers = { "x-host-token": hostToken };
  expect((await hub.fetch(kick, { method: "POST", headers })).status).toBe(200);
  const stopped = await until(
    "the agent's end",
    () => notices.find(({ kind }) => kind === "stopped"),
    (notice) => notice !== undefined,
  );
  expect(stopped).toMatchObject({
    code: "participant_banned",
    reason: expect.stringMatching(
      /^The host of room \w+ removed this participant\. It may join again in/,
    ),
    hint: "Ask the room's host, or join again then.",
  });
});

test("where every new room is closed, its creation returns its first key", async () => {
  await using hub = await startTestHub({ closed: true });
  const { room, key } = await hub.client.createRoom({ name: "lab", closed: false });
  expect(room.closed).toBe(true);
  const models = `/rooms/${room.code}/v1/models`;
  expect(await codeOf(await hub.fetch(models))).toBe("invalid_api_key");
  const headers = { authorization: `Bearer ${key?.value}` };
  expect((await hub.fetch(models, { headers })).status).toBe(200);
});

test("where the operator alone creates rooms, others use them as everywhere", async () => {
  await using hub = await startTestHub({ create: "host", adminSecret: "s3cret" });
  const refused = await hub.fetch("/rooms", { json: { name: "lab" } });
  expect(refused.status).toBe(403);
  expect(await codeOf(refused)).toBe("operator_required");
  const wrong = hub.client.createRoom({ name: "lab" }, { operatorSecret: "secret" });
  await expect(wrong).rejects.toMatchObject({ code: "operator_required" });
  const { room } = await hub.client.createRoom({ name: "lab" }, { operatorSecret: "s3cret" });
  expect(room).not.toHaveProperty("closed");
  expect((await hub.fetch(`/rooms/${room.code}/v1/models`)).status).toBe(200);
});

test("a client that is blocked by its name or address sends nothing more, and what it runs ends", async () => {
  const gate = createGate();
  await using provider = await startFakeProvider({
    behave: () => ({ kind: "normal", gate: gate.opened, gateAfterChunks: 2 }),
  });
  await using hub = await startTestHub({ limits: QUICK_SWEEP });
  const { code, path, headers } = await hostedRoom(hub);
  await joinDirect(hub, code, { endpoint: provider.url, config: { maxConcurrency: 3 } });
  const chat = (name: string, fields: object = {}) =>
    hub.fetch(`${path}/v1/chat/completions`, {
      json: { model: "*", messages: userSays("hi"), ...fields },
      headers: { authorization: `Bearer as-${name}` },
    });
  const blocked = async (method: string, client: string) => {
    const response = await hub.fetch(`${path}/blocked/${client}`, { method, headers });
    return ((await response.json()) as { blocked: string[] }).blocked;
  };
  const [eve, bob] = [await chat("eve", { stream: true }), await chat("bob", { stream: true })];
  expect((await hub.fetch(`${path}/blocked/eve`, { method: "PUT" })).status).toBe(403);
  expect(await blocked("PUT", "Eve")).toEqual(["eve"]);
  expect(await within(eve.text(), "the end of the stream")).toContain('"code":"client_blocked"');
  gate.open();
  expect(await bob.text()).not.toContain("error");
  const refused = await chat("eve");
  expect(refused.headers.get("x-should-retry")).toBe("false");
  expect([refused.status, await codeOf(refused)]).toEqual([403, "client_blocked"]);
  expect((await chat("bob")).status).toBe(200);
  expect(await blocked("PUT", "127.0.0.1")).toEqual(["eve", "127.0.0.1"]);
  expect(await codeOf(await chat("bob"))).toBe("client_blocked");
  expect(await blocked("DELETE", "127.0.0.1")).toEqual(["eve"]);
  expect((await chat("bob")).status).toBe(200);
  expect(await blocked("DELETE", "eve")).toEqual([]);
  expect((await chat("eve")).status).toBe(200);
});

const eve = { id: "eve", nickname: "Eve", model: "m", endpoint: "http://127.0.0.1:9/v1" };

/** The host removes eve for an hour, and blocks a client. */
async function shutOut(hub: TestHub, { path, headers }: { path: string; headers: HeadersInit }) {
  expect((await hub.fetch(`${path}/join`, { json: eve })).status).toBe(201);
  const kick = `${path}/participants/eve/kick?banMs=3600000`;
  expect((await hub.fetch(kick, { method: "POST", headers })).status).toBe(200);
  expect((await hub.fetch(`${path}/blocked/mallory`, { method: "PUT", headers })).status).toBe(200);
}

async function areOut(hub: TestHub, { path, headers }: { path: string; headers: HeadersInit }) {
  expect(await codeOf(await hub.fetch(`${path}/join`, { json: eve }))).toBe("participant_banned");
  const { blocked } = (await (await hub.fetch(`${path}/blocked`, { headers })).json()) as {
    blocked: string[];
  };
  expect(blocked).toEqual(["mallory"]);
}

test("who is removed and who is blocked stays out when the hub restarts", async () => {
  const store = memoryRoomStore();
  const hub = await startTestHub({ store });
  const room = await hostedRoom(hub);
  await shutOut(hub, room);
  await hub[Symbol.asyncDispose]();
  await using again = await startTestHub({ store });
  await areOut(again, room);
});

test("who is removed and who is blocked stays out when the room moves to another hub", async () => {
  await using cluster = await startCluster(2);
  await cluster.linked();
  const [first, second] = cluster.hubs;
  if (first === undefined || second === undefined) throw new Error("the cluster has two hubs");
  const room = await hostedRoom(first);
  await cluster.everywhere("/rooms", ({ rooms }: { rooms: Room[] }) => rooms.length === 1);
  await shutOut(first, room);
  await areOut(second, room);
  await first[Symbol.asyncDispose]();
  await areOut(second, room);
});
