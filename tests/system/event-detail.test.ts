import { RequestListResponse } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { userSays } from "../support/clients/openai-client.ts";
import { joinTunnel } from "../support/hub/joining.ts";
import { type EventRecorder, recordEvents } from "../support/hub/event-recorder.ts";
import { ledgerOf, ledgerProblems, settled } from "../support/hub/ledger.ts";
import { createManualTime, QUICK_SWEEP } from "../support/hub/manual-time.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { createGate, until } from "../support/waiting.ts";

const messages = userSays("a b");

test("requests of one session have a conversation in common in every llm event, in one room only", async () => {
  await using provider = await startFakeProvider();
  await using hub = await startTestHub();
  const [code, otherCode] = [await hub.createRoom(), await hub.createRoom()];
  await using _ada = await joinTunnel(hub, code, { endpoint: provider.url });
  const events = await hub.watch(undefined);
  const send = async (room: string, model: string, session: string | undefined) => {
    const headers = new Headers(session === undefined ? [] : [["x-session-id", session]]);
    const path = `/rooms/${room}/v1/chat/completions`;
    await (await hub.fetch(path, { json: { model, messages }, headers })).text();
  };
  await send(code, "*", "secret-session");
  await send(code, "missing", "secret-session");
  await send(otherCode, "missing", "secret-session");
  await send(code, "*", "other");
  await send(code, "*", undefined);
  await settled(events, 5);

  const named = events.events.filter(({ kind }) => kind.startsWith("llm."));
  const conversations = named.map(({ data }) => data["conversation"]);
  const [first, , , elsewhere, other] = conversations;
  expect(conversations).toEqual([
    ...[first, first, first],
    elsewhere,
    other,
    other,
    ...[undefined, undefined],
  ]);
  expect(new Set([first, elsewhere, other]).size).toBe(3);
  for (const one of [first, elsewhere, other]) expect(one).toMatch(/^[0-9a-f]{8}$/);
  expect(named.filter(({ data }) => "conversation" in data)).toHaveLength(6);
  expect(events.text + hub.log.join("")).not.toContain("secret-session");
});

/** A hub whose clock stands still, with one participant that runs one request at a time, stopped after two words. */
async function startBusyRoom() {
  const time = createManualTime();
  const gate = createGate();
  const provider = await startFakeProvider({
    behave: () => ({ kind: "normal", words: 12, gate: gate.opened, gateAfterChunks: 3 }),
  });
  const hub = await startTestHub({ world: time.world, limits: QUICK_SWEEP });
  const code = await hub.createRoom();
  const config = { maxConcurrency: 1 };
  const ada = await joinTunnel(hub, code, { endpoint: provider.url, config });
  return {
    ...{ time, gate, hub, code },
    /** @returns when its response is complete */
    async send(headers: HeadersInit = {}): Promise<void> {
      const json = { model: "*", messages, stream: true };
      const response = await hub.fetch(`/v1/rooms/${code}/chat/completions`, { json, headers });
      await response.text();
    },
    async [Symbol.asyncDispose]() {
      gate.open();
      await ada[Symbol.asyncDispose]();
      await hub[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

/** Hub-wide streams may begin before the room does. */
function kindsOfRequests({ events }: EventRecorder): string[] {
  return events.map(({ kind }) => kind).filter((kind) => /^(?:llm|request)\./.test(kind));
}

/** A stream's bytes without the events that only a stream with detail has. */
function withoutDetail(text: string): string {
  return text.replaceAll(/event: request[.:]\w+\ndata: .*\n\n/g, "");
}

test("streams with detail show who waits and what is generated; streams without are the same bytes as before", async () => {
  await using room = await startBusyRoom();
  const { hub, code, time } = room;
  const detailed = [
    await hub.watch(code, "dot", true),
    await hub.watch(code, "colon", true),
    await hub.watch(undefined, "dot", true),
    await hub.watch(undefined, "colon", true),
  ];
  const plain = [
    await hub.watch(code, "dot"),
    await hub.watch(code, "colon"),
    await hub.watch(undefined, "dot"),
    await hub.watch(undefined, "colon"),
  ];
  const [dot] = detailed as [EventRecorder];
  const first = room.send();
  const { data: begun } = await dot.next("request.first");
  const others = [];
  for (const place of [1, 2]) {
    others.push(room.send({ authorization: "Bearer as-bob", "x-session-id": "s" }));
    const { data } = await dot.next("request.queued", (queued) => queued["place"] === place);
    expect(data).toMatchObject({
      ...{ selector: "*", protocol: "chatCompletions", client: { kind: "name", id: "bob" } },
      conversation: expect.stringMatching(/^[0-9a-f]{8}$/) as string,
    });
  }
  await time.advance(1_000);
  room.gate.open();
  await Promise.all([first, ...others]);
  await settled(dot, 3);

  const { requestId } = ledgerOf(dot)[0]!;
  expect(begun).toMatchObject({
    requestId,
    participantId: "ada",
    ttftMs: expect.any(Number) as number,
  });
  const progress = dot.of("request.progress").map(({ data }) => data);
  // The clock stands still but for one second: one for the request that ran meanwhile, none for the others.
  expect(progress).toEqual([expect.objectContaining({ requestId })]);
  expect(progress[0]?.["outputTokens"]).toBeGreaterThanOrEqual(3);
  expect(progress[0]?.["outputTokens"]).toBeLessThanOrEqual(12);
  expect(dot.of("request.first")).toHaveLength(3);
  for (const [index, recorder] of detailed.entries()) {
    await settled(recorder, 3);
    await settled(plain[index]!, 3);
    expect(withoutDetail(recorder.text)).toBe(plain[index]!.text);
    const uncounted = recorder.events.filter(({ id }) => id === undefined);
    expect(uncounted.every(({ kind }) => kind.startsWith("request."))).toBe(true);
    expect(ledgerProblems(recorder)).toEqual([]);
    expect(kindsOfRequests(recorder)).toEqual(kindsOfRequests(dot));
  }
  expect(detailed[1]!.events.map(({ name }) => name)).toContain("request:progress");
});

test.each(["", "?detail", "?detail=0", "?details=1"])(
  "a stream opened with %j has no detail",
  async (query) => {
    await using room = await startBusyRoom();
    const { hub, code } = room;
    await using events = await recordEvents(`${hub.url}/v1/rooms/${code}/events${query}`);
    const watcher = await hub.watch(code, "dot", true);
    const sent = room.send();
    await watcher.next("request.first");
    room.gate.open();
    await sent;
    await settled(events, 1);
    expect(events.text).not.toContain("request.first");
  },
);

test.each(["/rooms", "/v1/rooms"])(
  "%s/CODE/requests shows a late watcher what runs and waits, and nothing once all has ended",
  async (rooms) => {
    await using room = await startBusyRoom();
    const { hub, code } = room;
    const list = async () => {
      const response = await hub.fetch(`${rooms}/${code}/requests`, {
        headers: { origin: "https://app.example" },
      });
      expect(response.headers.get("access-control-allow-origin")).toBe("*");
      return RequestListResponse.parse(await response.json()).requests;
    };
    expect(await list()).toEqual([]);
    const first = room.send({ "x-session-id": "s" });
    await until("the first content", list, ([one]) => one?.state === "streaming");
    const second = room.send();
    const before = await until("the second request", list, ({ length }) => length === 2);
    const events = await hub.watch(code, "dot", true);
    expect(await hub.client.listRequests(code)).toEqual(before);
    expect(before).toEqual([
      {
        requestId: expect.any(String) as string,
        ...{ state: "streaming", participantId: "ada", model: "fake-model", attempt: 1 },
        ...{ selector: "*", protocol: "chatCompletions", client: { kind: "none", id: "" } },
        conversation: expect.stringMatching(/^[0-9a-f]{8}$/) as string,
        startedAt: expect.any(Number) as number,
        firstAt: expect.any(Number) as number,
      },
      expect.objectContaining({ state: "queued", place: 1, attempt: 0 }),
    ]);
    room.gate.open();
    await Promise.all([first, second]);
    await settled(events, 2);
    expect(await list()).toEqual([]);
    // The slot is free, and the second one begins, before the first response is with its client.
    expect(new Set(ledgerOf(events).map(({ requestId }) => requestId))).toEqual(
      new Set(before.map(({ requestId }) => requestId)),
    );
    // The first content of the other one had passed before.
    expect(events.of("request.first").map(({ data }) => data["requestId"])).toEqual([
      before[1]?.requestId,
    ]);
  },
);

test("requests of a room that does not exist are 404", async () => {
  await using hub = await startTestHub();
  for (const path of ["/rooms/ABC234/requests", "/v1/rooms/ABC234/requests"]) {
    expect((await hub.fetch(path)).status).toBe(404);
  }
});
