import type { NewKey } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { connectResponses } from "../support/clients/responses-client.ts";
import { openaiAt, userSays } from "../support/clients/openai-client.ts";
import { recordEvents } from "../support/hub/event-recorder.ts";
import { joinDirect, joinTunnel } from "../support/hub/joining.ts";
import { QUICK_SWEEP } from "../support/hub/manual-time.ts";
import { startCluster } from "../support/hub/start-cluster.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { startRoutedProvider } from "../support/providers/routed-provider.ts";
import { createGate, until, within } from "../support/waiting.ts";

function bearer(value: string): Record<string, string> {
  return { authorization: `Bearer ${value}` };
}

/** A closed room, and what its host does in it. */
async function closedRoom(hub: TestHub) {
  const response = await hub.fetch("/rooms", { json: { name: "lab", closed: true } });
  const {
    room,
    hostToken,
    key: first,
  } = (await response.json()) as {
    room: { code: string };
    hostToken: string;
    key: NewKey;
  };
  const path = `/rooms/${room.code}`;
  const asHost = (below: string, init: Parameters<TestHub["fetch"]>[1] = {}, at = hub) =>
    at.fetch(path + below, { ...init, headers: { "x-host-token": hostToken } });
  return {
    code: room.code,
    path,
    first: first.value,
    asHost,
    key: async (name: string, fields: object = {}): Promise<string> => {
      const created = await asHost("/keys", { json: { name, ...fields } });
      return ((await created.json()) as { key: NewKey }).key.value;
    },
    revoke: async (name: string, at = hub): Promise<void> => {
      expect((await asHost(`/keys/${name}`, { method: "DELETE" }, at)).status).toBe(200);
    },
    join: async (endpoint: string, key: string, fields: object = {}): Promise<Response> => {
      const ada = { id: "ada", nickname: "Ada", model: "fake-model", endpoint, ...fields };
      return hub.fetch(`${path}/join`, { json: ada, headers: bearer(key) });
    },
    chat: (key: string, fields: object = {}): Promise<Response> => {
      const json = { model: "*", messages: userSays("hi"), ...fields };
      return hub.fetch(`${path}/v1/chat/completions`, { json, headers: bearer(key) });
    },
  };
}

type ClosedRoom = Awaited<ReturnType<typeof closedRoom>>;

async function codeOf(response: Response): Promise<string> {
  return ((await response.json()) as { error: { code: string } }).error.code;
}

/** Both are as they are before a key ends: a stream that has begun, and a request that waits behind it. */
async function begin(room: ClosedRoom, key: string) {
  const streams = await Promise.all([1, 2].map(() => room.chat(key, { stream: true })));
  const waiting = room.chat(key);
  await until(
    "a request that waits",
    async () => {
      const listed = await room.asHost("/requests");
      return ((await listed.json()) as { requests: { place?: number }[] }).requests;
    },
    (requests) => requests.some(({ place }) => place !== undefined),
  );
  return { streams, waiting };
}

test.each(["at the room's home", "through another hub"])(
  "%s, a revoked key ends what runs, waits and watches with it; nothing of another key is lost",
  async (where) => {
    const gate = createGate();
    await using provider = await startFakeProvider({
      behave: () => ({ kind: "normal", gate: gate.opened, gateAfterChunks: 2 }),
    });
    await using cluster = await startCluster(2, { limits: QUICK_SWEEP });
    await cluster.linked();
    const [home, other] = cluster.hubs;
    if (home === undefined || other === undefined) throw new Error("the cluster has two hubs");
    const atHome = await closedRoom(home);
    const hub = where === "through another hub" ? other : home;
    const { path, first, key, revoke, join } = atHome;
    expect((await join(provider.url, first, { config: { maxConcurrency: 3 } })).status).toBe(201);
    const [ada, bob] = [await key("ada"), await key("bob")];
    const chat = (value: string, fields: object = {}) => {
      const json = { model: "*", messages: userSays("hi"), ...fields };
      return hub.fetch(`${path}/v1/chat/completions`, { json, headers: bearer(value) });
    };
    const kept = await chat(bob, { stream: true });
    const watch = (value: string) => recordEvents(`${hub.url}/v1${path}/events`, bearer(value));
    const [adasEvents, bobsEvents] = [await watch(ada), await watch(bob)];
    const socketUrl = `${hub.url}${path}/v1/responses`;
    await using socket = await connectResponses(socketUrl, { headers: bearer(ada) });
    const { streams, waiting } = await begin({ ...atHome, chat }, ada);

    await revoke("ada");
    for (const stream of streams) {
      const text = await within(stream.text(), "the end of the stream");
      expect(text).toContain('"code":"key_revoked"');
      expect(text.trimEnd().endsWith("data: [DONE]")).toBe(true);
    }
    const refused = await within(waiting, "the refusal of what waited");
    expect([refused.status, await codeOf(refused)]).toEqual([401, "key_revoked"]);
    await adasEvents.waitFor("its end", ({ hasEnded }) => hasEnded);
    expect(adasEvents.text).toContain(": key_revoked");
    expect(await within(socket.closed, "its close")).toEqual({ code: 1008, reason: "key_revoked" });

    gate.open();
    const whole = await kept.text();
    expect(whole).not.toContain("error");
    expect(whole.trimEnd().endsWith("data: [DONE]")).toBe(true);
    await bobsEvents.waitFor("one complete", (one) => one.of("llm.complete").length === 1);
    expect(bobsEvents.hasEnded).toBe(false);
    const errors = bobsEvents.of("llm.error").map(({ data }) => [data["code"], data["client"]]);
    const ended = ["key_revoked", { kind: "holder", id: "ada" }];
    expect(errors).toEqual([ended, ended, ended]);
    expect(await codeOf(await chat(ada))).toBe("key_revoked");
    adasEvents.close();
    bobsEvents.close();
  },
);

test("a key that is revoked at the room's next home ends what still runs with it at the home before", async () => {
  const gate = createGate();
  await using provider = await startFakeProvider({
    behave: () => ({ kind: "normal", gate: gate.opened, gateAfterChunks: 2 }),
  });
  await using cluster = await startCluster(2, { limits: { ...QUICK_SWEEP, drainMs: 20_000 } });
  await cluster.linked();
  const [home, next] = cluster.hubs;
  if (home === undefined || next === undefined) throw new Error("the cluster has two hubs");
  const { code, path, first, key, revoke } = await closedRoom(home);
  await using _ada = await joinTunnel(home, code, { endpoint: provider.url, key: first });
  const [ada, bob] = [await key("ada"), await key("bob")];
  await using events = await recordEvents(`${home.url}/v1${path}/events`, bearer(first));
  const chat = (value: string) =>
    next.fetch(`${path}/v1/chat/completions`, {
      json: { model: "*", messages: userSays("hi"), stream: true },
      headers: bearer(value),
    });
  const [streamOfAda, streamOfBob] = [await chat(ada), await chat(bob)];
  await events.waitFor("both to begin", (one) => one.of("llm.request").length === 2);
  const closed = home.hub.close();
  await events.waitFor("the end of the old home's stream", ({ hasEnded }) => hasEnded);
  await revoke("ada", next);
  expect(await within(streamOfAda.text(), "the end of the stream")).toContain("key_revoked");
  gate.open();
  const whole = await streamOfBob.text();
  expect(whole).not.toContain("error");
  expect(whole.trimEnd().endsWith("data: [DONE]")).toBe(true);
  await closed;
});

test("a participant leaves with the key that it joined with, and its token proves nothing more", async () => {
  await using provider = await startFakeProvider();
  await using hub = await startTestHub({ limits: QUICK_SWEEP });
  const { path, first, key, revoke, join } = await closedRoom(hub);
  const ada = await key("ada", { may: ["share"] });
  const joined = await join(provider.url, ada);
  const { participantToken } = (await joined.json()) as { participantToken: string };
  const token = { "x-participant-token": participantToken };
  const beat = () => hub.fetch(`${path}/health`, { json: { id: "ada" }, headers: token });
  expect((await beat()).status).toBe(200);
  await using events = await recordEvents(`${hub.url}/v1${path}/events`, bearer(first));
  await revoke("ada");
  const { data } = await events.next("participant.left");
  expect(data).toMatchObject({ participantId: "ada", reason: "key_ended" });
  expect(await codeOf(await beat())).toBe("invalid_api_key");
  expect(await codeOf(await join(provider.url, ada))).toBe("key_revoked");
});

test("a key that expires ends what runs with it as a revoked one does", async () => {
  const gate = createGate();
  await using provider = await startFakeProvider({
    behave: () => ({ kind: "normal", gate: gate.opened, gateAfterChunks: 2 }),
  });
  await using hub = await startTestHub({ limits: QUICK_SWEEP });
  const room = await closedRoom(hub);
  await room.join(provider.url, room.first);
  const ada = await room.key("ada", { expiresInMs: 1_500 });
  const stream = await room.chat(ada, { stream: true });
  expect(await within(stream.text(), "the end of the stream")).toContain('"code":"key_expired"');
  expect(await codeOf(await room.chat(ada))).toBe("key_expired");
  gate.open();
});

test("closing a room ends what runs in it without a key; its participants stay", async () => {
  const gate = createGate();
  await using provider = await startFakeProvider({
    behave: () => ({ kind: "normal", gate: gate.opened, gateAfterChunks: 2 }),
  });
  await using hub = await startTestHub({ limits: QUICK_SWEEP });
  const { room, hostToken = "" } = await hub.client.createRoom({ name: "lab" });
  await joinDirect(hub, room.code, { endpoint: provider.url });
  const events = await hub.watch(room.code);
  const json = { model: "*", messages: userSays("hi"), stream: true };
  const path = `/rooms/${room.code}`;
  const stream = await hub.fetch(`${path}/v1/chat/completions`, { json });
  const headers = { "x-host-token": hostToken };
  expect((await hub.fetch(`${path}/close`, { method: "POST", headers })).status).toBe(200);
  expect(await within(stream.text(), "its end")).toContain('"code":"invalid_api_key"');
  await events.waitFor("the end of the event stream", ({ hasEnded }) => hasEnded);
  const listed = await hub.fetch(`${path}/participants`, { headers });
  const { participants } = (await listed.json()) as { participants: object[] };
  expect(participants).toHaveLength(1);
  gate.open();
});

test("a holder is known by the name of its key, and no client can claim a name", async () => {
  await using provider = await startFakeProvider();
  await using hub = await startTestHub();
  const { code, path, first, key, join } = await closedRoom(hub);
  await join(provider.url, first);
  const ada = await key("ada");
  await using events = await recordEvents(`${hub.url}/v1${path}/events`, bearer(first));
  const json = { model: "*", messages: userSays("hi") };
  const headers = { authorization: "Bearer as-bob", "x-api-key": ada };
  await (await hub.fetch(`${path}/v1/chat/completions`, { json, headers })).text();
  const { data } = await events.next("llm.complete");
  expect(data["client"]).toEqual({ kind: "holder", id: "ada" });
  const openai = openaiAt(`${hub.url}/rooms/${code}/v1`).withOptions({ apiKey: ada });
  await openai.chat.completions.create({
    model: "*",
    messages: [{ role: "user", content: "hi" }],
  });
  await events.waitFor("both", (one) => one.of("llm.complete").length === 2);
  expect(events.of("llm.complete")[1]?.data["client"]).toEqual({ kind: "holder", id: "ada" });
  expect(JSON.stringify(provider.requests.map((one) => one.rawHeaders))).not.toContain("rhk_");
  expect(hub.log.join()).not.toContain("rhk_");
  expect(events.text).not.toContain("rhk_");
});

test("a stored response is there for the key that made it, and for no other", async () => {
  const made = { id: "resp_1", object: "response", status: "completed", output: [] };
  await using provider = await startRoutedProvider({
    "POST /responses": () => ({ json: made }),
    "GET /responses/resp_1": () => ({ json: made }),
  });
  await using hub = await startTestHub();
  const { path, first, key, join } = await closedRoom(hub);
  const capabilities = { storedResponses: "supported", openResponses: "supported" };
  expect((await join(provider.url, first, { model: "m", capabilities })).status).toBe(201);
  const [ada, bob] = [await key("ada"), await key("bob")];
  const post = (value: string, fields: object) =>
    hub.fetch(`${path}/v1/responses`, {
      json: { model: "m", input: "hi", ...fields },
      headers: bearer(value),
    });
  const get = (value: string) =>
    hub.fetch(`${path}/v1/responses/resp_1`, { headers: bearer(value) });
  expect((await post(ada, {})).status).toBe(200);
  expect((await get(ada)).status).toBe(200);
  expect(await codeOf(await get(bob))).toBe("response_not_found");
  const after = { previous_response_id: "resp_1" };
  expect((await post(ada, after)).status).toBe(200);
  expect(await codeOf(await post(bob, after))).toBe("previous_response_not_found");
});
