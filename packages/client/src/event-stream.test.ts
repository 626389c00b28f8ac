import type { ServerResponse } from "node:http";
import { afterEach, expect, test, vi } from "vitest";
import { RoomhubClient } from "./client.ts";
import { HubUnreachableError } from "./errors.ts";
import { openEvents, sendJson, startFakeHub } from "./fake-hub.fixture.ts";

afterEach(() => void vi.useRealTimers());

function left(participantId: string, id = "b-1"): string {
  const who = { participantId, nickname: participantId };
  const data = { type: "participant.left", timestamp: "t", roomCode: "ABC234", ...who };
  return `id: ${id}\nevent: participant.left\ndata: ${JSON.stringify(data)}\n\n`;
}

async function take(events: AsyncIterable<object>, count: number): Promise<object[]> {
  const taken: object[] = [];
  for await (const event of events) if (taken.push(event) === count) break;
  return taken;
}

/** As `fetch` behaves with a server that accepts the connection and sends nothing. */
function neverResponds(_url: string, { signal }: RequestInit): Promise<Response> {
  return new Promise((_resolve, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason as Error));
  });
}

function streamOf(
  text: string,
  source: Omit<UnderlyingDefaultSource<Uint8Array>, "start"> = {},
): Response {
  const body = new ReadableStream<Uint8Array>({
    ...source,
    start: (controller) => controller.enqueue(Buffer.from(text)),
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

const ids = (events: object[]) =>
  events.map((event) => (event as { participantId: string }).participantId);

test("room events are read from the management path, hub events from the hub-wide path", async () => {
  await using hub = await startFakeHub((_request, response) => {
    openEvents(response, 10);
    response.write(left("ada"));
  });
  const client = new RoomhubClient({ hubUrl: hub.url });
  expect(ids(await take(client.events("abc234"), 1))).toEqual(["ada"]);
  expect(ids(await take(client.events(), 1))).toEqual(["ada"]);
  expect(hub.requests.map(({ url }) => url)).toEqual(["/v1/rooms/ABC234/events", "/v1/events"]);
});

test("a stream with detail is requested as one, and yields its further events", async () => {
  await using hub = await startFakeHub((_request, response) => {
    openEvents(response, 10);
    const about = { requestId: "req_1", participantId: "ada", ttftMs: 5 };
    const data = { type: "request.first", timestamp: "t", roomCode: "ABC234", ...about };
    response.write(`event: request.first\ndata: ${JSON.stringify(data)}\n\n${left("ada")}`);
  });
  const client = new RoomhubClient({ hubUrl: hub.url });
  for (const events of [
    client.events("abc234", { detail: true }),
    client.events(undefined, { detail: true }),
  ]) {
    const types = (await take(events, 2)).map((event) => (event as { type: string }).type);
    expect(types).toEqual(["request.first", "participant.left"]);
  }
  expect(hub.requests.map(({ url }) => url)).toEqual([
    ...["/v1/rooms/ABC234/events?detail=1", "/v1/events?detail=1"],
  ]);
});

test("events are read from a stream cut at every byte", async () => {
  const bytes = Buffer.from(left("zoë") + left("βeta"));
  for (let cut = 0; cut <= bytes.length; cut++) {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(bytes.subarray(0, cut));
        controller.enqueue(bytes.subarray(cut));
        controller.close();
      },
    });
    const headers = { "content-type": "text/event-stream" };
    const client = new RoomhubClient({
      hubUrl: "http://hub",
      fetch: async () => new Response(body, { headers }),
    });
    expect(ids(await take(client.events("ABC234", { reconnect: false }), 9))).toEqual([
      "zoë",
      "βeta",
    ]);
  }
});

test("an event without a field that it must have is left out, with one warning for the whole stream", async () => {
  const sent = (fields: object) => {
    const data = { type: "llm.complete", timestamp: "t", roomCode: "ABC234", ...fields };
    return `event: llm.complete\ndata: ${JSON.stringify(data)}\n\n`;
  };
  const about = { requestId: "req_1", participantId: "ada", model: "m", protocol: "messages" };
  let opened = 0;
  await using hub = await startFakeHub((_request, response) => {
    openEvents(response, 50);
    response.write(sent(about) + sent({ ...about, metrics: { ttftMs: null } }) + left("ada"));
    if (++opened === 1) setImmediate(() => response.destroy());
    else response.write(sent({ ...about, metrics: { ttftMs: 1, durationMs: 2 } }));
  });
  const problems: string[] = [];
  const events = new RoomhubClient({ hubUrl: hub.url }).events("ABC234", {
    onInvalidEvent: (problem) => problems.push(problem),
  });
  expect((await take(events, 3)).map((event) => (event as { type: string }).type)).toEqual([
    ...["participant.left", "participant.left", "llm.complete"],
  ]);
  expect(problems).toEqual([
    "the hub sent llm.complete without a valid metrics: such events are left out",
  ]);
});

test("a broken stream is reopened after the retry time of the server", async () => {
  let opened = 0;
  await using hub = await startFakeHub((_request, response) => {
    openEvents(response, 60);
    response.write(left(`take-${++opened}`));
    if (opened < 3) setImmediate(() => response.destroy());
  });
  const breaks: number[] = [];
  let opens = 0;
  const events = new RoomhubClient({ hubUrl: hub.url }).events("ABC234", {
    onOpen: () => opens++,
    onDisconnect: (_reason, retryInMs) => breaks.push(retryInMs),
  });
  expect(ids(await take(events, 3))).toEqual(["take-1", "take-2", "take-3"]);
  expect(opens).toBe(3);
  expect(breaks).toEqual([60, 60]);
});

test("the retry time doubles while the hub stays unreachable", async () => {
  let calls = 0;
  await using hub = await startFakeHub((_request, response) => {
    if (++calls === 1 || calls === 4) {
      openEvents(response, 50);
      response.end(left(String(calls)));
    } else sendJson(response, 503, { error: { message: "draining", code: "hub_draining" } });
  });
  const breaks: number[] = [];
  const events = new RoomhubClient({ hubUrl: hub.url }).events("ABC234", {
    onDisconnect: (_reason, retryInMs) => breaks.push(retryInMs),
  });
  expect(ids(await take(events, 2))).toEqual(["1", "4"]);
  expect(breaks).toEqual([50, 100, 200]);
});

test("a failed first attempt throws", async () => {
  const hub = await startFakeHub((_request, response) => {
    sendJson(response, 404, { error: { message: "no such room", code: "room_not_found" } });
  });
  const client = new RoomhubClient({ hubUrl: hub.url });
  await expect(take(client.events("ABC234"), 1)).rejects.toMatchObject({ code: "room_not_found" });
  await hub[Symbol.asyncDispose]();
  await expect(take(client.events("ABC234"), 1)).rejects.toBeInstanceOf(HubUnreachableError);
});

test("a room that does not exist after a reconnect ends the iteration with room_not_found", async () => {
  let calls = 0;
  await using hub = await startFakeHub((_request, response) => {
    if (++calls === 1) {
      openEvents(response, 50);
      response.end(left("ada"));
    } else sendJson(response, 404, { error: { message: "gone", code: "room_not_found" } });
  });
  const events = new RoomhubClient({ hubUrl: hub.url }).events("ABC234");
  await expect(take(events, 2)).rejects.toMatchObject({ code: "room_not_found" });
});

test("a hub that accepts the connection and sends nothing times out after 50 s", async () => {
  vi.useFakeTimers();
  const client = new RoomhubClient({ hubUrl: "http://hub", fetch: neverResponds });
  const taken = take(client.events("ABC234"), 1);
  const refused = expect(taken).rejects.toMatchObject({
    name: "HubUnreachableError",
    message: "Hub at http://hub is unreachable: no response in 50000 ms",
  });
  expect(vi.getTimerCount()).toBe(1);
  await vi.advanceTimersByTimeAsync(50_000);
  await refused;
  expect(vi.getTimerCount()).toBe(0);
});

test("a timeout at a reconnect is retried", async () => {
  vi.useFakeTimers();
  const ended = streamOf("", { pull: (controller) => controller.close() });
  const replies = [ended, undefined, streamOf(left("ada"))];
  const reasons: string[] = [];
  const client = new RoomhubClient({
    hubUrl: "http://hub",
    fetch: (url, init) => {
      const reply = replies.shift();
      return reply === undefined ? neverResponds(url, init) : Promise.resolve(reply);
    },
  });
  const taken = take(
    client.events("ABC234", { onDisconnect: (reason) => void reasons.push(reason) }),
    1,
  );
  await vi.advanceTimersByTimeAsync(120_000);
  expect(reasons).toEqual([
    "the hub ended the stream",
    "Hub at http://hub is unreachable: no response in 50000 ms",
  ]);
  expect(ids(await taken)).toEqual(["ada"]);
});

test.each([
  ["the last event's id", left("zoë", "b-1") + left("ada", "b-2"), "b-2"],
  ["the id of an event it does not know", "id: b-3\nevent: x\ndata: {}\n\n", "b-3"],
  ["nothing when nothing came", "", undefined],
  ["nothing when the id fits into no header", left("ada", "βeta"), undefined],
])("a reconnect sends %s", async (_what, replies, sent) => {
  const lastIds: unknown[] = [];
  await using hub = await startFakeHub((_request, response, incoming) => {
    openEvents(response, 50);
    if (lastIds.push(incoming.headers["last-event-id"]) === 1) response.end(replies);
    else response.write(left("second"));
  });
  const events = new RoomhubClient({ hubUrl: hub.url }).events("ABC234");
  for await (const event of events) if (ids([event])[0] === "second") break;
  expect(lastIds).toEqual([undefined, sent]);
});

test.each([1, 2])(
  "an error that onOpen throws at opening %i ends the iteration and closes the stream",
  async (faulty) => {
    let opened = 0;
    let wasCancelled = false;
    const client = new RoomhubClient({
      hubUrl: "http://hub",
      fetch: async () => {
        if (opened + 1 < faulty) {
          return streamOf("retry: 50\n\n", { pull: (controller) => controller.close() });
        }
        return streamOf(left("ada"), {
          cancel: () => {
            wasCancelled = true;
          },
        });
      },
    });
    const events = client.events("ABC234", {
      onOpen: () => {
        if (++opened === faulty) throw new Error("a bug of the caller's");
      },
    });
    await expect(take(events, 1)).rejects.toThrow("a bug of the caller's");
    expect({ opened, wasCancelled }).toEqual({ opened: faulty, wasCancelled: true });
  },
);

test("without reconnect the iteration ends with the stream", async () => {
  await using hub = await startFakeHub((_request, response) => {
    openEvents(response, 50);
    response.end(left("ada"));
  });
  const events = new RoomhubClient({ hubUrl: hub.url }).events("ABC234", { reconnect: false });
  expect(ids(await take(events, 5))).toEqual(["ada"]);
  expect(hub.requests).toHaveLength(1);
});

test.each(["while waiting for an event", "while waiting to reconnect", "before it began"])(
  "aborting %s ends the iteration without an error",
  async (when) => {
    const controller = new AbortController();
    const { signal } = controller;
    await using hub = await startFakeHub((_request, response) => {
      openEvents(response, 10_000);
      if (when === "while waiting to reconnect") response.end();
    });
    if (when === "before it began") controller.abort();
    const events = new RoomhubClient({ hubUrl: hub.url }).events("ABC234", {
      signal,
      onOpen: () => {
        if (when === "while waiting for an event") setImmediate(() => controller.abort());
      },
      onDisconnect: () => setImmediate(() => controller.abort()),
    });
    expect(await take(events, 1)).toEqual([]);
  },
);

test("break closes the connection", async () => {
  const closed = Promise.withResolvers<void>();
  await using hub = await startFakeHub((_request, response, incoming) => {
    incoming.socket.once("close", () => closed.resolve());
    openEvents(response, 10);
    response.write(left("ada"));
  });
  await take(new RoomhubClient({ hubUrl: hub.url }).events("ABC234"), 1);
  await closed.promise;
});

test("unknown and malformed events are skipped", async () => {
  await using hub = await startFakeHub((_request, response) => {
    openEvents(response, 10);
    response.write('event: room.painted\ndata: {"type":"room.painted"}\n\n');
    response.write("event: participant.left\ndata: {\n\n");
    response.write("event: participant.left\ndata: null\n\n");
    response.write(left("ada"));
  });
  const events = new RoomhubClient({ hubUrl: hub.url }).events("ABC234");
  expect(ids(await take(events, 1))).toEqual(["ada"]);
});

test("the id of each event is reported right before the event, also of an unknown one", async () => {
  await using hub = await startFakeHub((_request, response) => {
    openEvents(response, 10);
    response.write(
      `${left("ada", "b-1")}id: b-2\nevent: room.painted\ndata: {}\n\n${left("bob", "b-3")}`,
    );
  });
  const seen: string[] = [];
  const client = new RoomhubClient({ hubUrl: hub.url });
  for await (const event of client.events("ABC234", { onEventId: (id) => seen.push(id) })) {
    seen.push(...ids([event]));
    if (seen.length === 5) break;
  }
  expect(seen).toEqual(["b-1", "ada", "b-2", "b-3", "bob"]);
});

test("the first attempt sends the last id of an earlier stream, unless it cannot be in a header", async () => {
  const sent: unknown[] = [];
  await using hub = await startFakeHub((_request, response, incoming) => {
    sent.push(incoming.headers["last-event-id"]);
    openEvents(response, 10);
    response.write(left("ada"));
  });
  const client = new RoomhubClient({ hubUrl: hub.url });
  for (const lastEventId of ["b-7", "b\n7"])
    await take(client.events("ABC234", { lastEventId }), 1);
  expect(sent).toEqual(["b-7", undefined]);
});

test("an error of the callback for ids ends the iteration", async () => {
  await using hub = await startFakeHub((_request, response) => {
    openEvents(response, 10);
    response.write(left("ada"));
  });
  const onEventId = () => {
    throw new Error("disk full");
  };
  const events = new RoomhubClient({ hubUrl: hub.url }).events("ABC234", { onEventId });
  await expect(take(events, 1)).rejects.toThrow("disk full");
});

test("an endless event is not buffered without bound", async () => {
  await using hub = await startFakeHub((_request, response) => {
    openEvents(response, 10);
    pour(response);
  });
  const events = new RoomhubClient({ hubUrl: hub.url }).events("ABC234", { reconnect: false });
  await expect(take(events, 1)).rejects.toThrow("more than 1 MiB");
});

function pour(response: ServerResponse): void {
  while (!response.destroyed && response.write("x".repeat(65_536)));
  if (!response.destroyed) response.once("drain", () => pour(response));
}
