import { once } from "node:events";
import { Agent, OpenAIProvider, Runner } from "@openai/agents";
import { ResponsesWS } from "openai/resources/responses/ws";
import { describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { PATHS } from "../support/hub/joining.ts";
import { ledgerOf, ledgerProblems, settled } from "../support/hub/ledger.ts";
import { createManualTime, QUICK_SWEEP } from "../support/hub/manual-time.ts";
import { openaiAt } from "../support/clients/openai-client.ts";
import { sendBytes } from "../support/clients/raw-http.ts";
import { openResponsesRoom, responseId, turn } from "../support/hub/responses-room.ts";
import { connectResponses, type SocketEvent, textOf } from "../support/clients/responses-client.ts";
import { BASE_URLS, startTestHub } from "../support/hub/start-test-hub.ts";
import { createGate, until, within } from "../support/waiting.ts";

const variants = PATHS.flatMap((path) =>
  Object.entries(BASE_URLS).map(([base, baseUrlOf]) => ({ path, base, baseUrlOf })),
);

describe.each(variants)("a socket on /responses at $base over $path", ({ path, baseUrlOf }) => {
  test("serves the OpenAI SDK's turns one after the other", async () => {
    await using room = await openResponsesRoom(undefined, {}, path);
    const socket = new ResponsesWS(openaiAt(baseUrlOf(room.hub, room.code)));
    const texts: string[] = [];
    socket.on("response.output_text.done", ({ text }) => texts.push(text));
    for (const input of ["to be", "or not"]) {
      const completed = within(
        new Promise<string>((resolve, reject) => {
          socket.on("error", reject);
          socket.once("response.completed", ({ response }) => resolve(response.status ?? ""));
        }),
        "the turn",
      );
      socket.send({ type: "response.create", model: "*", input });
      expect(await completed).toBe("completed");
    }
    socket.close();
    expect(texts).toEqual(["to be", "or not"]);
    await settled(room.events, 2);
    expect(room.events.of("llm.complete")).toHaveLength(2);
    expect(ledgerProblems(room.events)).toEqual([]);
  });

  test("sends each event of the provider's stream as one message, and nothing else", async () => {
    await using room = await openResponsesRoom(undefined, {}, path);
    await using client = await connectResponses(`${baseUrlOf(room.hub, room.code)}/responses`);
    const events = await client.turn(turn);
    const posted = await room.hub.fetch(`/rooms/${room.code}/v1/responses`, {
      json: { ...turn, stream: true },
    });
    const streamed = [...(await posted.text()).matchAll(/^data: (\{.*)$/gm)].map(
      ([, data = ""]) => JSON.parse(data) as SocketEvent,
    );
    expect(events.map(({ type }) => type)).toEqual(streamed.map(({ type }) => type));
    expect(textOf(events)).toBe("to be or not");
    expect(room.turns()[0]).toEqual({
      ...turn,
      model: "fake-model",
      stream: true,
    });
  });

  test("cancels the generation of a client that closes in the middle", async () => {
    await using room = await openResponsesRoom(
      () => ({ kind: "hang-mid-stream", afterChunks: 4 }),
      {},
      path,
    );
    const client = await room.open();
    client.send({ type: "response.create", ...turn });
    await client.next();
    client.socket.close();
    await room.provider.waitFor(({ aborted }) => aborted === 1);
    const { data } = await room.events.next("llm.error");
    expect(data).toMatchObject({ code: "client_disconnected", stage: "client" });
    await settled(room.events, 1);
    expect(ledgerProblems(room.events)).toEqual([]);
  });
});

test("the agents SDK continues its last run over one socket", async () => {
  await using room = await openResponsesRoom();
  const openAIClient = openaiAt(`${room.hub.url}/rooms/${room.code}/v1`);
  const options = { openAIClient, useResponses: true, useResponsesWebSocket: true };
  const modelProvider = new OpenAIProvider(options);
  const runner = new Runner({ modelProvider, tracingDisabled: true });
  const agent = new Agent({ name: "helper", instructions: "Be brief.", model: "*" });
  const first = await runner.run(agent, "to be or not");
  expect(first.finalOutput).toBe("to be or not");
  const previousResponseId = first.lastResponseId;
  const second = await runner.run(agent, "that is", { previousResponseId, stream: true });
  await second.completed;
  expect(second.finalOutput).toBe("that is");
  expect(room.turns().at(-1)?.["input"]).toHaveLength(3);
  await modelProvider.close();
});

describe("a socket stays open after", () => {
  const refused = [
    { what: "no JSON", message: "{", code: "invalid_json" },
    { what: "an empty message", message: "", code: "invalid_json" },
    { what: "a list", message: "[]", code: "invalid_type" },
    { what: "another type", message: { type: "response.steer" }, code: "invalid_type" },
    { what: "a binary message", message: Buffer.from("{}"), code: "bad_request" },
    {
      what: "a turn without a model",
      message: { type: "response.create", input: "a" },
      code: "missing_required_parameter",
    },
    {
      what: "a turn on a lane",
      message: { type: "response.create", ...turn, stream_id: "a" },
      code: "bad_request",
    },
    {
      what: "a body nested too deeply",
      message: `{"type":"response.create","model":"*","input":${"[".repeat(2e5)}${"]".repeat(2e5)}}`,
      code: "field_too_large",
    },
    {
      what: "an unknown model",
      message: { type: "response.create", ...turn, model: "nobody" },
      status: 404,
      code: "model_not_found",
    },
  ];

  test.for(refused)("$what", async ({ message, code, status = 400 }) => {
    await using room = await openResponsesRoom();
    await using client = await room.open();
    client.send(message);
    const error = await client.next();
    expect(error).toMatchObject({
      type: "error",
      status,
      code,
      error: { code, type: "invalid_request_error", message: error.message },
      headers: { "x-request-id": expect.stringMatching(/^req_/) },
    });
    expect(textOf(await client.turn(turn))).toBe("to be or not");
  });

  test("a provider that breaks off, which ends in an error and a failed response", async () => {
    let count = 0;
    await using room = await openResponsesRoom(() =>
      count++ === 0 ? { kind: "cut", afterChunks: 5 } : undefined,
    );
    await using client = await room.open();
    const broken = await client.turn(turn);
    expect(broken.at(-1)).toMatchObject({ type: "error", code: "provider_disconnected" });
    expect(await client.next()).toMatchObject({
      type: "response.failed",
      response: { status: "failed" },
    });
    expect(textOf(await client.turn(turn))).toBe("to be or not");
    await settled(room.events, 2);
    expect(ledgerProblems(room.events)).toEqual([]);
  });
});

test("turns that arrive together wait for each other, and one too many is refused", async () => {
  const gate = createGate();
  await using room = await openResponsesRoom(() => ({ kind: "normal", gate: gate.opened }), {
    limits: { responseSocketQueue: 2 },
  });
  await using client = await room.open();
  for (const input of ["one", "two", "three", "four"]) {
    client.send({ type: "response.create", ...turn, input });
  }
  expect(await client.next()).toMatchObject({ status: 429, code: "queue_full" });
  expect(room.turns().length).toBeLessThanOrEqual(1);
  gate.open();
  for (const input of ["one", "two", "three"]) expect(textOf(await client.answer())).toBe(input);
  await settled(room.events, 3);
  const ids = new Set(ledgerOf(room.events).map(({ requestId }) => requestId));
  expect(ids.size).toBe(3);
});

test("a provider's JSON response to a turn becomes the terminal event", async () => {
  await using room = await openResponsesRoom(() => ({ kind: "big-json", bytes: 100_000 }));
  await using client = await room.open();
  const [only, ...others] = await client.turn(turn);
  expect(others).toEqual([]);
  expect(only).toMatchObject({ type: "response.completed", response: { status: "completed" } });
});

test("an event of megabytes is one message", async () => {
  await using room = await openResponsesRoom(() => ({ kind: "big-event", bytes: 3_000_000 }));
  await using client = await room.open();
  const events = await client.turn(turn);
  expect(textOf(events).length).toBeGreaterThan(2_900_000);
  expect(events.at(-1)?.type).toBe("response.completed");
});

test("an event longer than the limit of a response ends the turn with an error", async () => {
  await using room = await openResponsesRoom(() => ({ kind: "big-event", bytes: 300_000 }), {
    limits: { responseBodyBytes: 200_000 },
  });
  await using client = await room.open();
  expect((await client.turn(turn)).at(-1)).toMatchObject({ code: "response_too_large" });
  await settled(room.events, 1);
});

test("a client that does not read pauses the provider, and gets everything once it reads", async () => {
  const pieces = Array.from({ length: 300 }, () => "x".repeat(65_536));
  await using room = await openResponsesRoom(() => ({ kind: "normal", pieces }));
  await using client = await room.open();
  client.socket.pause();
  client.send({ type: "response.create", ...turn });
  await room.asked();
  const sent = () => room.provider.requests.at(-1)?.bytesSent ?? 0;
  const counts: number[] = [];
  const isStuck = (bytes: number) =>
    bytes > 0 && counts.push(bytes) > 30 && counts.at(-30) === bytes;
  await until("the provider to be held up", sent, isStuck);
  expect(sent()).toBeLessThan(300 * 65_536);
  client.socket.resume();
  const events = await client.answer();
  expect(textOf(events)).toHaveLength(300 * 65_536);
  expect(events.map(({ sequence_number: number }) => number)).toEqual(
    events.map((_event, index) => index),
  );
});

test("a client that reads nothing for too long is disconnected", async () => {
  const time = createManualTime();
  const pieces = Array.from({ length: 600 }, () => "x".repeat(65_536));
  await using room = await openResponsesRoom(() => ({ kind: "normal", pieces }), {
    world: time.world,
    limits: { ...QUICK_SWEEP, offlineAfterMs: 1e9, clientStallMs: 3_000 },
  });
  await using client = await room.open();
  client.socket.pause();
  client.send({ type: "response.create", ...turn });
  await room.asked();
  await until(
    "the client to stall",
    () => time.advance(1_000).then(() => room.events.of("llm.error").length),
    Boolean,
  );
  expect(room.events.of("llm.error")[0]?.data["code"]).toBe("client_stalled");
  await room.provider.waitFor(({ openGenerations }) => openGenerations === 0);
});

describe("the handshake", () => {
  async function refusal(url: string): Promise<{ status: number; body: unknown }> {
    const socket = new WebSocket(url.replace(/^http/, "ws"));
    socket.on("error", () => undefined);
    const [, response] = (await within(once(socket, "unexpected-response"), "the refusal")) as [
      unknown,
      AsyncIterable<Buffer> & { statusCode: number },
    ];
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk);
    return {
      status: response.statusCode,
      body: JSON.parse(Buffer.concat(chunks).toString()) as unknown,
    };
  }

  test("of an unknown room is 404", async () => {
    await using hub = await startTestHub();
    expect(await refusal(`${hub.url}/rooms/ZZZZZZ/v1/responses`)).toMatchObject({
      status: 404,
      body: { error: { code: "room_not_found" } },
    });
  });

  test("of one socket too many is 503, until another closes", async () => {
    await using room = await openResponsesRoom(undefined, { limits: { responseSockets: 1 } });
    const client = await room.open();
    expect(await refusal(room.url)).toMatchObject({
      status: 503,
      body: { error: { code: "hub_overloaded" } },
    });
    await client[Symbol.asyncDispose]();
    await until(
      "room for another",
      () =>
        room.open().then(
          (other) => other[Symbol.asyncDispose]().then(() => true),
          () => false,
        ),
      Boolean,
    );
  });

  test("is accepted from web pages", async () => {
    await using room = await openResponsesRoom();
    await using client = await room.open({ origin: "https://example.com" });
    expect(textOf(await client.turn(turn))).toBe("to be or not");
  });

  test("has the priority of its header in all turns, and does not forward it", async () => {
    await using room = await openResponsesRoom();
    await using client = await room.open({ "x-roomhub-priority": "batch" });
    for (const input of ["one", "two"]) {
      await client.turn({ ...turn, input });
      expect((await room.events.next("llm.complete")).data["priority"]).toBe("batch");
    }
    for (const { headers } of room.provider.requests) {
      expect(headers).not.toHaveProperty("x-roomhub-priority");
    }
  });

  test("is 426 without an upgrade", async () => {
    await using room = await openResponsesRoom();
    const answer = await fetch(room.url);
    expect(answer.status).toBe(426);
    expect(answer.headers.get("upgrade")).toBe("websocket");
    expect(await answer.json()).toMatchObject({ error: { code: "upgrade_required" } });
  });

  test("on a POST is an ordinary request", async () => {
    await using room = await openResponsesRoom();
    const body = JSON.stringify({ model: "*", input: "to be" });
    const head = [
      `POST /rooms/${room.code}/v1/responses HTTP/1.1`,
      "host: hub",
      "connection: Upgrade",
      "upgrade: websocket",
      "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
      "sec-websocket-version: 13",
      `content-length: ${body.length}`,
    ];
    const answer = await sendBytes(room.hub.port, `${head.join("\r\n")}\r\n\r\n${body}`);
    expect(answer.status).toBe(200);
  });
});

describe("in time", () => {
  test("a socket reports that its time is over, once no turn runs", async () => {
    const time = createManualTime();
    const gate = createGate();
    await using room = await openResponsesRoom(() => ({ kind: "normal", gate: gate.opened }), {
      world: time.world,
      limits: { ...QUICK_SWEEP, offlineAfterMs: 1e9, responseSocketMs: 5_000 },
    });
    await using client = await room.open();
    client.send({ type: "response.create", ...turn });
    await room.asked();
    await time.advance(5_500);
    client.send({ type: "response.create", ...turn });
    expect(await client.next()).toMatchObject({ code: "websocket_connection_limit_reached" });
    gate.open();
    expect(textOf(await client.answer())).toBe("to be or not");
    expect(await client.next()).toMatchObject({
      type: "error",
      status: 400,
      error: { code: "websocket_connection_limit_reached" },
    });
    expect(await within(client.closed, "the close")).toMatchObject({ code: 1001 });
  });

  test("a socket whose client sends no pong is closed", async () => {
    const time = createManualTime();
    await using room = await openResponsesRoom(undefined, {
      world: time.world,
      limits: { ...QUICK_SWEEP, offlineAfterMs: 1e9, responseSocketPingMs: 1_000 },
    });
    const client = await connectResponses(room.url, { autoPong: false });
    const pinged = once(client.socket, "ping");
    await time.advance(1_500);
    await within(pinged, "a ping");
    await time.advance(3_000);
    expect(await within(client.closed, "the cut")).toMatchObject({ code: 1006 });
  });

  test("a message that stops in the middle is not waited for", async () => {
    const time = createManualTime();
    await using room = await openResponsesRoom(undefined, {
      world: time.world,
      limits: { ...QUICK_SWEEP, offlineAfterMs: 1e9, bodyIdleMs: 1_000 },
    });
    await using client = await room.open();
    client.socket.send('{"type":', { fin: false });
    await until("the hub to have it", () => time.advance(500).then(() => client.events), hasAny);
    expect(client.events[0]).toMatchObject({ status: 408, code: "request_read_timeout" });
    expect(await within(client.closed, "the close")).toMatchObject({ code: 1008 });
  });
});

function hasAny(events: readonly SocketEvent[]): boolean {
  return events.length > 0;
}

test("a message over the limit of a body closes the socket, and only that one", async () => {
  await using room = await openResponsesRoom(undefined, { limits: { inferenceBodyBytes: 1_000 } });
  await using client = await room.open();
  await using other = await room.open();
  client.send({ type: "response.create", ...turn, input: "x".repeat(1_000) });
  expect(await within(client.closed, "the close")).toMatchObject({ code: 1009 });
  expect(textOf(await other.turn(turn))).toBe("to be or not");
});

test("messages that arrive count as held, and what does not fit is refused", async () => {
  await using room = await openResponsesRoom(undefined, { limits: { heldBodyBytes: 100_000 } });
  await using client = await room.open();
  client.socket.send("x".repeat(150_000), { fin: false });
  expect(await client.next()).toMatchObject({ status: 503, code: "hub_overloaded" });
  await client[Symbol.asyncDispose]();
  await using other = await room.open();
  expect(textOf(await other.turn(turn))).toBe("to be or not");
});

describe("a hub that closes", () => {
  test("closes idle sockets, lets a turn finish, and accepts no new one", async () => {
    const gate = createGate();
    await using room = await openResponsesRoom(() => ({ kind: "normal", gate: gate.opened }), {
      limits: { drainMs: 10_000 },
    });
    await using idle = await room.open();
    await using busy = await room.open();
    busy.send({ type: "response.create", ...turn });
    await room.asked();
    const closing = room.hub.hub.close();
    expect(await within(idle.closed, "the idle socket's close")).toMatchObject({ code: 1001 });
    busy.send({ type: "response.create", ...turn });
    expect(await busy.next()).toMatchObject({ status: 503, code: "hub_draining" });
    gate.open();
    expect(textOf(await busy.answer())).toBe("to be or not");
    expect(await within(busy.closed, "the busy socket's close")).toMatchObject({ code: 1001 });
    expect(await within(closing, "the hub's close")).toEqual({ cut: 0 });
  });

  test("ends a turn after the drain time, with an error", async () => {
    await using room = await openResponsesRoom(
      () => ({ kind: "hang-mid-stream", afterChunks: 4 }),
      {
        limits: { drainMs: 50 },
      },
    );
    await using client = await room.open();
    client.send({ type: "response.create", ...turn });
    await room.provider.waitFor(({ requests }) =>
      requests.some(({ chunksSent }) => chunksSent === 4),
    );
    expect(await within(room.hub.hub.close(), "the hub's close")).toEqual({ cut: 1 });
    expect((await client.answer()).at(-1)).toMatchObject({ code: "hub_shutting_down" });
    expect(await within(client.closed, "the close")).toMatchObject({ code: 1001 });
  });
});

test("no bytes stay held once sockets are closed", async () => {
  await using room = await openResponsesRoom(undefined, { limits: { heldBodyBytes: 20_000 } });
  for (let round = 0; round < 20; round++) {
    await using client = await room.open();
    const first = await client.turn({ ...turn, input: "x".repeat(2_000) });
    const second = await client.turn({ ...turn, previous_response_id: responseId(first) });
    expect(second.at(-1)?.type).toBe("response.completed");
  }
});
