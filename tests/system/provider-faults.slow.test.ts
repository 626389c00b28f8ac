import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { type Behaviour, startFakeProvider } from "../support/providers/fake-provider.ts";
import { join, joinDirect, PATHS } from "../support/hub/joining.ts";
import { ledgerProblems, settled } from "../support/hub/ledger.ts";
import { openaiAt, userSays } from "../support/clients/openai-client.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";

const head = "HTTP/1.1 200 OK\r\nconnection: close\r\n";
const openaiError = { error: { message: "no", type: "t", param: null, code: "c" } };

/** Faults before a response's head was sent to the client: it gets a status. */
interface RefusedCase {
  title: string;
  behaviour: Behaviour;
  status: number;
  code: string;
  headers?: Record<string, string | null>;
}

const stop = { "x-should-retry": "false" };
const retryable = { "x-should-retry": null };
/** Only for providers that are silent for ever: a busy machine is slow with the others. */
const quickTimeouts = { firstByteMs: 150, streamIdleMs: 150, sweepIntervalMs: 10 };

const refused: RefusedCase[] = [
  {
    title: "hangs",
    behaviour: { kind: "hang" },
    status: 504,
    code: "provider_timeout",
    headers: stop,
  },
  {
    title: "responds 401",
    behaviour: { kind: "status", status: 401 },
    status: 502,
    code: "provider_auth_failed",
    headers: stop,
  },
  {
    title: "responds 403",
    behaviour: { kind: "status", status: 403 },
    status: 502,
    code: "provider_auth_failed",
    headers: stop,
  },
  {
    title: "responds 500",
    behaviour: { kind: "status", status: 500 },
    status: 502,
    code: "provider_error",
    headers: retryable,
  },
  {
    title: "responds 500 and reports a mistake in the request",
    behaviour: {
      kind: "status",
      status: 500,
      body: { error: { message: "image input is not supported", type: "server_error" } },
    },
    status: 400,
    code: "provider_error",
    headers: stop,
  },
  {
    title: "responds 501",
    behaviour: { kind: "status", status: 501 },
    status: 400,
    code: "unsupported_protocol",
    headers: stop,
  },
  {
    title: "responds 503",
    behaviour: { kind: "status", status: 503 },
    status: 503,
    code: "provider_error",
  },
  {
    title: "responds 504",
    behaviour: { kind: "status", status: 504 },
    status: 504,
    code: "provider_error",
  },
  {
    title: "responds 429 with retry-after",
    behaviour: {
      kind: "status",
      status: 429,
      body: openaiError,
      headers: { "retry-after": "7", "x-ratelimit-limit-requests": "3", "x-secret": "s" },
    },
    status: 429,
    code: "c",
    headers: { "retry-after": "7", "x-ratelimit-limit-requests": "3", "x-secret": null },
  },
  {
    title: "responds 400 in OpenAI's shape",
    behaviour: { kind: "status", status: 400, body: openaiError },
    status: 400,
    code: "c",
  },
  {
    title: "responds 404 with HTML",
    behaviour: { kind: "status", status: 404, body: "<html>no</html>" },
    status: 404,
    code: "provider_error",
  },
  {
    title: "responds 409",
    behaviour: { kind: "status", status: 409, body: openaiError },
    status: 409,
    code: "c",
    headers: retryable,
  },
  {
    title: "responds 200 with an error, as LM Studio does",
    behaviour: { kind: "error-200" },
    status: 502,
    code: "provider_error",
  },
  {
    title: "responds with garbage",
    behaviour: { kind: "raw", bytes: "\u0000\u0001 this is no HTTP\r\n\r\n" },
    status: 502,
    code: "provider_invalid_response",
    headers: retryable,
  },
  {
    title: "redirects",
    behaviour: { kind: "status", status: 302, headers: { location: "http://127.0.0.1:1/" } },
    status: 502,
    code: "provider_invalid_response",
    headers: retryable,
  },
  {
    title: "compresses although the request forbids it",
    behaviour: {
      kind: "raw",
      bytes: Buffer.concat([
        Buffer.from(`${head}content-type: application/json\r\ncontent-encoding: gzip\r\n\r\n`),
        gzipSync('{"choices":[]}'),
      ]),
    },
    status: 502,
    code: "provider_invalid_response",
    headers: retryable,
  },
  {
    title: "sends headers without end",
    behaviour: { kind: "raw", bytes: `${head}x-big: ${"h".repeat(256 * 1024)}\r\n\r\n` },
    status: 502,
    code: "provider_invalid_response",
    headers: retryable,
  },
  {
    title: "responds with a web page",
    behaviour: { kind: "raw", bytes: `${head}content-type: text/html\r\n\r\n<html>hello</html>` },
    status: 502,
    code: "provider_invalid_response",
    headers: retryable,
  },
  {
    title: "responds with an impossible status",
    behaviour: { kind: "raw", bytes: "HTTP/1.1 999 What\r\ncontent-length: 0\r\n\r\n" },
    status: 502,
    code: "provider_invalid_response",
    headers: retryable,
  },
  {
    title: "closes without a response",
    behaviour: { kind: "raw", bytes: "" },
    status: 502,
    code: "provider_disconnected",
  },
];

async function setUp(path: (typeof PATHS)[number], behaviour: Behaviour) {
  await using stack = new AsyncDisposableStack();
  const provider = stack.use(await startFakeProvider({ behave: () => behaviour }));
  const limits = behaviour.kind.startsWith("hang") ? quickTimeouts : {};
  const hub = stack.use(await startTestHub({ limits }));
  const code = await hub.createRoom();
  stack.use(await join(path, hub, code, { endpoint: provider.url }));
  const events = await hub.watch(code);
  const owned = stack.move();
  return { hub, provider, code, events, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

async function ask(hub: TestHub, code: string, stream: boolean, surface = "chat/completions") {
  const said = surface === "responses" ? { input: "a b c d" } : { messages: userSays("a b c d") };
  const answer = await hub.fetch(`/rooms/${code}/v1/${surface}`, {
    json: { model: "*", stream, ...said },
  });
  return { answer, text: await answer.text() };
}

describe.each(PATHS)("over %s, a provider that", (path) => {
  test.for(refused.flatMap((row) => [true, false].map((stream) => ({ ...row, stream }))))(
    "$title is answered $status $code (stream: $stream)",
    async ({ behaviour, status, code: errorCode, headers = {}, stream }) => {
      await using room = await setUp(path, behaviour);
      const { answer, text } = await ask(room.hub, room.code, stream);
      const { error } = JSON.parse(text) as { error: Record<string, string> };
      expect({ status: answer.status, code: error["code"] }).toEqual({ status, code: errorCode });
      expect(error["message"]).toMatch(/\S/);
      const seen = Object.keys(headers).map((name) => [name, answer.headers.get(name)]);
      expect(Object.fromEntries(seen)).toEqual(headers);
      expect(answer.headers.get("x-roomhub-participant")).toBe("ada");

      await settled(room.events, 1);
      const { data } = await room.events.next("llm.error");
      expect(data).toMatchObject({ stage: "provider", participantId: "ada", model: "fake-model" });
      expect(data["requestId"]).toBe(answer.headers.get("x-request-id"));
      expect(ledgerProblems(room.events)).toEqual([]);
    },
  );

  /** Faults in the middle of a stream: the client gets a frame that no SDK accepts as a response. */
  const broken: { title: string; behaviour: Behaviour; code: string }[] = [
    { title: "is cut", behaviour: { kind: "cut", afterChunks: 3 }, code: "provider_disconnected" },
    {
      title: "is reset",
      behaviour: { kind: "cut", afterChunks: 3, reset: true },
      code: "provider_disconnected",
    },
    {
      title: "ends its stream without a marker",
      behaviour: { kind: "no-marker" },
      code: "provider_disconnected",
    },
    {
      title: "stops sending",
      behaviour: { kind: "hang-mid-stream", afterChunks: 3 },
      code: "stream_idle_timeout",
    },
  ];

  test.for(
    broken.flatMap((row) =>
      ["chat/completions", "responses"].map((surface) => ({ ...row, surface })),
    ),
  )(
    "$title in the middle of $surface ends it with an error frame",
    async ({ behaviour, code: errorCode, surface }) => {
      await using room = await setUp(path, behaviour);
      const { answer, text } = await ask(room.hub, room.code, true, surface);
      expect(answer.status).toBe(200);
      const frames = text.trimEnd().split("\n\n");
      expect(frames.at(-1)).toBe("data: [DONE]");
      const errorFrame = frames.find((frame) => frame.includes(`"code":"${errorCode}"`)) ?? "";
      expect(errorFrame).toMatch(
        surface === "responses" ? /^event: error\ndata: / : /^data: \{"error"/,
      );
      const { data } = await room.events.next("llm.error");
      expect(data).toMatchObject({ code: errorCode, stage: "provider" });
      expect(room.events.of("llm.complete")).toEqual([]);
      expect(ledgerProblems(room.events)).toEqual([]);

      const openai = openaiAt(`${room.hub.url}/rooms/${room.code}/v1`);
      await expect(
        surface === "responses"
          ? openai.responses.stream({ model: "*", input: "a b c d" }).finalResponse()
          : openai.chat.completions
              .stream({ model: "*", messages: userSays("a b c d") })
              .finalContent(),
      ).rejects.toThrow(/\S/);
    },
  );

  test("is cut in the middle of a JSON response gives the client no complete response", async () => {
    await using room = await setUp(path, { kind: "cut", afterChunks: 1 });
    const { answer, text } = await ask(room.hub, room.code, false);
    expect(answer.status).toBe(502);
    expect(JSON.parse(text)).toMatchObject({ error: { code: "provider_disconnected" } });
    expect((await room.events.next("llm.error")).data).toMatchObject({
      code: "provider_disconnected",
    });
  });

  /** Quirks that are not faults. */
  test.for<{ title: string; behaviour: Behaviour }>([
    { title: "forgets [DONE]", behaviour: { kind: "no-done" } },
    { title: "ends lines with CRLF", behaviour: { kind: "crlf" } },
    { title: "gives no usage", behaviour: { kind: "usage-absent" } },
    { title: "sends every byte alone", behaviour: { kind: "byte-by-byte" } },
    { title: "is slow", behaviour: { kind: "slow-head", delayMs: 20 } },
  ])("$title is complete all the same", async ({ behaviour }) => {
    await using room = await setUp(path, behaviour);
    const openai = openaiAt(`${room.hub.url}/rooms/${room.code}/v1`);
    const body = { model: "*", messages: userSays("a b c d") };
    expect(await openai.chat.completions.stream(body).finalContent()).toBe("a b c d");
    const { text } = await ask(room.hub, room.code, true);
    expect(
      text
        .trimEnd()
        .split(/\r?\n\r?\n/)
        .at(-1),
    ).toBe("data: [DONE]");
    await settled(room.events, 2);
    expect(room.events.of("llm.complete")).toHaveLength(2);
    expect(room.events.of("llm.error")).toEqual([]);
    const { metrics } = (await room.events.next("llm.complete")).data as { metrics?: object };
    expect(metrics).toMatchObject({ ttftMs: expect.any(Number), durationMs: expect.any(Number) });
  });
});

test.for<{ title: string; behaviour: Behaviour }>([
  { title: "502s", behaviour: { kind: "status", status: 502 } },
  { title: "503s", behaviour: { kind: "status", status: 503 } },
])("a provider that $title is passed over for another, once", async ({ behaviour }) => {
  await using bad = await startFakeProvider({ behave: () => behaviour });
  await using good = await startFakeProvider();
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  await joinDirect(hub, code, { id: "bad", endpoint: bad.url });
  await joinDirect(hub, code, { id: "good", endpoint: good.url });
  const events = await hub.watch(code);
  const answer = await hub.fetch(`/rooms/${code}/v1/chat/completions`, {
    json: { model: "fake-model", messages: userSays("hello") },
  });
  expect(answer.status).toBe(200);
  expect(answer.headers.get("x-roomhub-participant")).toBe("good");
  expect(answer.headers.get("x-roomhub-attempts")).toBe("2");
  await answer.text();
  const { data } = await events.next("llm.complete");
  expect(data).toMatchObject({ attempts: 2, participantId: "good" });
  const attempts = events
    .of("llm.request")
    .map(({ data: { participantId, attempt } }) => [participantId, attempt]);
  expect(attempts).toEqual([
    ["bad", 1],
    ["good", 2],
  ]);
  expect(ledgerProblems(events)).toEqual([]);
});

test.for(PATHS)(
  "a provider that refuses connections over %s is passed over for another",
  async (path) => {
    const gone = await startFakeProvider();
    await using good = await startFakeProvider();
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _bad = await join(path, hub, code, { id: "bad", endpoint: gone.url });
    await using _good = await join(path, hub, code, { id: "good", endpoint: good.url });
    await gone.close();
    const events = await hub.watch(code);
    const answer = await hub.fetch(`/rooms/${code}/v1/chat/completions`, {
      json: { model: "fake-model", messages: userSays("hello") },
    });
    expect(answer.headers.get("x-roomhub-participant")).toBe("good");
    expect(answer.headers.get("x-roomhub-attempts")).toBe("2");
    await answer.text();
    await events.next("llm.complete");
    expect(ledgerProblems(events)).toEqual([]);
    // Selected by its id it is not replaced by another.
    const named = await hub.fetch(`/rooms/${code}/v1/chat/completions`, {
      json: { model: "bad", messages: userSays("hello") },
    });
    expect([502, 503]).toContain(named.status);
    expect(good.requests.filter(({ method }) => method === "POST")).toHaveLength(1);
  },
);
