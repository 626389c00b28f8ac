import { EVENT_NAMES, type HubEvent, systemWorld } from "@roomhub/protocol";
import { describe, expect, test } from "vitest";
import { type EventRecorder, recordEvents } from "../support/hub/event-recorder.ts";
import { type Behaviour, startFakeProvider } from "../support/providers/fake-provider.ts";
import { joinDirect, joinTunnel } from "../support/hub/joining.ts";
import { ledgerOf, ledgerProblems, settled } from "../support/hub/ledger.ts";
import { createManualTime, QUICK_SWEEP } from "../support/hub/manual-time.ts";
import { userSays } from "../support/clients/openai-client.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";
import { until } from "../support/waiting.ts";

/** Join, change, valid and invalid requests, leave: every kind of event except the offline one. */
async function runEverything(hub: TestHub, code: string): Promise<void> {
  const behaviours: Behaviour[] = [{ kind: "normal" }, { kind: "no-marker" }];
  await using provider = await startFakeProvider({ behave: () => behaviours.shift() });
  await joinDirect(hub, code, { id: "alan", nickname: "Alan", endpoint: provider.url });
  await until(
    "its capabilities",
    () => hub.client.getParticipant(code, "alan"),
    ({ capabilities }) => capabilities.chatCompletions === "supported",
  );
  await hub.client.updateParticipant(code, "alan", { nickname: "Alan T." });
  for (const json of [
    { model: "*", messages: userSays("a b"), stream: true },
    { model: "*", messages: userSays("a b"), stream: true },
    { model: "nobody", messages: userSays("a b") },
  ]) {
    await (await hub.fetch(`/rooms/${code}/v1/chat/completions`, { json })).text();
  }
  await hub.client.leave(code, "alan");
}

/** What two streams must agree on: everything except the spelling of names and the ids. */
function told(recorder: EventRecorder) {
  return recorder.events.map(({ kind, data: { type: _type, ...rest } }) => ({ kind, ...rest }));
}

test("a program that embeds the hub has received all of a room's events when the hub has closed", async () => {
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  const heard: HubEvent[] = [];
  hub.hub.watch(code, (events) => heard.push(...events));
  const json = { model: "nobody", messages: userSays("a b") };
  const asked = hub.fetch(`/rooms/${code}/v1/chat/completions`, { json });
  await until(
    "the request to fail",
    () => hub.log,
    (lines) => lines.join("").includes("llm.error"),
  );
  await hub.hub.close();
  expect(heard.map(({ type }) => type)).toEqual(["room.created", "llm.error"]);
  await asked.catch(() => undefined);
});

test("a room that does not exist cannot be watched", async () => {
  await using hub = await startTestHub();
  expect(() => hub.hub.watch("ZZZ999", () => undefined)).toThrow(/ZZZ999/);
});

test("every stream reports the same events, each in its own spelling", async () => {
  const world = { ...systemWorld, wallMs: () => 1_893_456_000_000 };
  await using hub = await startTestHub({ world });
  const [hubColon, hubDot] = [
    await hub.watch(undefined, "colon"),
    await hub.watch(undefined, "dot"),
  ];
  const code = await hub.createRoom();
  const [colon, dot] = [await hub.watch(code, "colon"), await hub.watch(code, "dot")];
  const here: HubEvent[] = [];
  hub.hub.watch(code, (events) => here.push(...events));
  await runEverything(hub, code);
  const all = [colon, dot, hubColon, hubDot];
  for (const recorder of all) await recorder.next("participant.left");

  // Without a socket: the same events.
  expect(here).toEqual(dot.events.map(({ data }) => data));
  expect(told(dot).map(({ kind }) => kind)).toEqual([
    "room.created",
    "participant.joined",
    // The first probe got a response, a second one detected its capabilities; then its owner renamed it.
    "participant.updated",
    "participant.updated",
    "participant.updated",
    "llm.request",
    "llm.complete",
    "llm.request",
    "llm.error",
    "llm.error",
    "participant.left",
  ]);
  for (const recorder of all) {
    expect(told(recorder)).toEqual(told(dot));
    expect(ledgerProblems(recorder)).toEqual([]);
    for (const { name, data } of recorder.events) {
      expect(data.type).toBe(name);
      expect(data.roomCode).toBe(code);
      expect(new Date(data.timestamp).toISOString()).toBe(data.timestamp);
    }
  }
  const separators = (recorder: EventRecorder) =>
    new Set(recorder.events.map(({ name }) => name.replace(/\w/g, "")));
  expect([...separators(colon), ...separators(hubColon)]).toEqual([":", ":"]);
  expect([...separators(dot), ...separators(hubDot)]).toEqual([".", "."]);
});

test("ids count up within a room and name the hub's run", async () => {
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  const events = await hub.watch(code);
  await runEverything(hub, code);
  await events.next("participant.left");
  const ids = events.events.map(({ id }) => /^([0-9a-f]+)-(\d+)$/.exec(id ?? "")!);
  expect(new Set(ids.map(([, boot]) => boot)).size).toBe(1);
  expect(ids.map(([, , count]) => Number(count))).toEqual(ids.map((_, index) => index + 1));
});

test("the llm events carry exactly what the interface promises", async () => {
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  const events = await hub.watch(code);
  await runEverything(hub, code);
  await events.next("participant.left");
  const [complete, broken, unrouted] = ledgerOf(events);
  const who = { participantId: "alan", model: "fake-model", protocol: "chatCompletions" };
  expect(complete?.requests[0]?.data).toMatchObject({ ...who, selector: "*", attempt: 1 });
  expect(complete?.ends[0]?.data).toMatchObject({
    ...who,
    selector: "*",
    attempts: 1,
    queueMs: 0,
    metrics: { ttftMs: expect.any(Number), durationMs: expect.any(Number) },
  });
  expect(broken?.ends[0]?.data).toMatchObject({
    ...who,
    nickname: "Alan T.",
    endpoint: expect.stringMatching(/^http:/),
    stage: "provider",
    code: "provider_disconnected",
    error: expect.stringMatching(/\S/),
  });
  expect(unrouted).toMatchObject({ requests: [] });
  expect(unrouted?.ends[0]?.data).toMatchObject({
    participantId: null,
    nickname: null,
    endpoint: null,
    model: "nobody",
    stage: "routing",
    code: "model_not_found",
  });
});

test.for(["colon", "dot"] as const)(
  "a %s stream opened right after its room's creation begins with room.created, on reconnecting not",
  async (spelling) => {
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    const events = await hub.watch(code, spelling);
    const [first] = events.events.length > 0 ? events.events : [await events.next("room.created")];
    expect(first).toMatchObject({ kind: "room.created", data: { room: { code } } });
    const path = `${spelling === "dot" ? "/v1" : ""}/rooms/${code}/events`;
    await using again = await recordEvents(hub.url + path, { "last-event-id": "abc-1" });
    await joinDirect(hub, code, { endpoint: "http://127.0.0.1:9/v1" });
    await again.next("participant.joined");
    expect(again.of("room.created")).toEqual([]);
  },
);

test("idle streams stay open and get a comment every 15 s", async () => {
  const time = createManualTime();
  await using hub = await startTestHub({ world: time.world, limits: QUICK_SWEEP });
  const code = await hub.createRoom();
  const streams = [
    await hub.watch(code, "colon"),
    await hub.watch(code, "dot"),
    await hub.watch(undefined, "colon"),
    await hub.watch(undefined, "dot"),
  ];
  await time.advance(6_000);
  const before = streams.map(({ comments }) => comments);
  await time.advance(60_000);
  for (const [index, stream] of streams.entries()) {
    await stream.waitFor("four comments", ({ comments }) => comments === before[index]! + 4);
    expect(stream.hasEnded).toBe(false);
  }
  await joinDirect(hub, code, { endpoint: "http://127.0.0.1:9/v1" });
  for (const stream of streams) await stream.next("participant.joined");
});

describe("a participant's life", () => {
  test("29.9 s between heartbeats keep it online, silence is one offline event by 31 s, the next beat one updated", async () => {
    const time = createManualTime();
    await using provider = await startFakeProvider();
    await using hub = await startTestHub({ world: time.world, limits: QUICK_SWEEP });
    const code = await hub.createRoom();
    await joinDirect(hub, code, { endpoint: provider.url });
    const events = await hub.watch(code);
    const status = async () => (await hub.client.getParticipant(code, "ada")).status;

    for (let beat = 0; beat < 3; beat++) {
      await time.advance(29_900);
      expect(await status()).toBe("online");
      const answer = await hub.fetch(`/rooms/${code}/health`, { json: { id: "ada" } });
      expect(await answer.json()).toMatchObject({ success: true, status: "online" });
    }
    await time.advance(30_000);
    expect(await status()).toBe("online");
    expect(events.of("participant.offline")).toEqual([]);
    const updatesBefore = events.of("participant.updated").length;

    await time.advance(1_000);
    expect(await status()).toBe("offline");
    const { data } = await events.next("participant.offline");
    expect(data).toMatchObject({ participantId: "ada", nickname: "Ada" });
    await time.advance(10_000);

    expect((await hub.client.heartbeat(code, "ada")).status).toBe("online");
    await events.next("participant.updated", ({ participant }) => hasStatus(participant, "online"));
    expect(await status()).toBe("online");
    await hub.client.leave(code, "ada");
    await events.next("participant.left");
    expect(events.of("participant.offline")).toHaveLength(1);
    expect(events.of("participant.updated")).toHaveLength(updatesBefore + 1);
  });

  test("an open tunnel counts as life, and its loss is one event", async () => {
    const time = createManualTime();
    await using provider = await startFakeProvider();
    await using hub = await startTestHub({ world: time.world, limits: QUICK_SWEEP });
    const code = await hub.createRoom();
    const events = await hub.watch(code);
    await using ada = await joinTunnel(hub, code, { endpoint: provider.url });
    await events.next("participant.updated", ({ participant }) => isConnected(participant));
    // Each of the tunnel's pings comes back before the next ten seconds are over.
    for (let tens = 0; tens < 7; tens++) {
      await time.advance(10_000);
      await hub.client.health();
    }
    expect(events.of("participant.offline")).toEqual([]);
    expect((await hub.client.getParticipant(code, "ada")).status).toBe("online");
    await ada.agent.close();
    await events.next("participant.left");
    expect(events.of("participant.offline")).toEqual([]);
  });
});

test("a hub that was suspended does not count the time as silence", async () => {
  const time = createManualTime();
  await using hub = await startTestHub({ world: time.world, limits: QUICK_SWEEP });
  const code = await hub.createRoom();
  await joinDirect(hub, code, { endpoint: "http://127.0.0.1:9/v1" });
  const events = await hub.watch(code);
  await time.leap(3_600_000);
  await time.advance(20_000);
  expect((await hub.client.getParticipant(code, "ada")).status).toBe("online");
  expect(events.of("participant.offline")).toEqual([]);
});

test("HEAD of an event stream has its headers and ends", async () => {
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  const answer = await hub.fetch(`/v1/rooms/${code}/events`, { method: "HEAD" });
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toBe("text/event-stream");
});

test.each(["/rooms/ABC234/events", "/v1/rooms/ABC234/events"])(
  "HEAD %s of a room that is not there is 404, as GET is",
  async (path) => {
    await using hub = await startTestHub();
    for (const method of ["GET", "HEAD"]) {
      expect((await hub.fetch(path, { method })).status).toBe(404);
    }
  },
);

test("all eight kinds of event reach a watcher", async () => {
  const time = createManualTime();
  await using hub = await startTestHub({ world: time.world, limits: QUICK_SWEEP });
  const events = await hub.watch(undefined);
  const code = await hub.createRoom();
  await joinDirect(hub, code, { endpoint: "http://127.0.0.1:9/v1" });
  await time.advance(31_000);
  await runEverything(hub, code);
  await settled(events, 3);
  await events.next("participant.left");
  expect(new Set(events.events.map(({ kind }) => kind))).toEqual(new Set(EVENT_NAMES));
});

function hasStatus(participant: unknown, status: string): boolean {
  return (participant as { status: string }).status === status;
}

function isConnected(participant: unknown): boolean {
  return (participant as { connection: { connected: boolean } }).connection.connected;
}
