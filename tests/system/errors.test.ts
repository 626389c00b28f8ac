import { ERROR_STATUS, type ErrorCode, errorTypeOf } from "@roomhub/protocol";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { joinDirect } from "../support/hub/joining.ts";
import { userSays } from "../support/clients/openai-client.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";

/** One way to fail; `CODE` in the path is a room with one participant, ada. */
interface Failing {
  method?: string;
  path: string;
  /** as it is, or JSON when it is no text */
  body?: unknown;
  headers?: Record<string, string>;
  code: ErrorCode;
  param?: string;
  expectedHeaders?: Record<string, string>;
}

const join = "/rooms/CODE/join";
const put = "/v1/rooms/CODE/participants/p";
const chat = "/rooms/CODE/v1/chat/completions";
const responses = "/v1/rooms/CODE/responses";
const good = { id: "p", nickname: "n", model: "m", endpoint: "http://127.0.0.1:9/v1" };
const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
const control = "\u0007";

const routing: Failing[] = [
  { method: "GET", path: "/", code: "not_found" },
  { method: "GET", path: "/v1/models", code: "not_found" },
  { method: "POST", path: "/v1/chat/completions", body: {}, code: "not_found" },
  { method: "GET", path: "/rooms/CODE/v1/v1/models", code: "not_found" },
  { method: "GET", path: "/rooms/CODE/nothing", code: "not_found" },
  { method: "GET", path: "/rooms/%zz", code: "bad_request" },
  { method: "GET", path: "/rooms/ZZZZZZ", code: "room_not_found" },
  { method: "GET", path: "/rooms/..%2f..%2fetc", code: "room_not_found" },
  { method: "GET", path: "/rooms/ZZZZZZ/events", code: "room_not_found" },
  { method: "GET", path: "/v1/rooms/ZZZZZZ/models", code: "room_not_found" },
  { path: "/rooms/ZZZZZZ/v1/chat/completions", body: { model: "*" }, code: "room_not_found" },
  { path: "/rooms/ZZZZZZ/join", body: good, code: "room_not_found" },
  { method: "GET", path: put, code: "participant_not_found" },
  { method: "DELETE", path: "/rooms/CODE/leave/p", code: "participant_not_found" },
  { path: "/rooms/CODE/health", body: { id: "p" }, code: "participant_not_found" },
  { path: "/v1/rooms/CODE/participants/p/heartbeat", code: "participant_not_found" },
  { method: "GET", path: "/rooms/CODE/v1/models/p", code: "model_not_found", param: "model" },
  {
    method: "DELETE",
    path: "/rooms",
    code: "method_not_allowed",
    expectedHeaders: { allow: "GET, POST, HEAD, OPTIONS" },
  },
  {
    method: "GET",
    path: chat,
    code: "method_not_allowed",
    expectedHeaders: { allow: "POST, OPTIONS" },
  },
  { method: "PATCH", path: put, body: {}, code: "method_not_allowed" },
];

const bodies: Failing[] = [
  { path: "/rooms", body: "", code: "invalid_json" },
  { path: "/rooms", body: "{bad", code: "invalid_json" },
  { path: "/rooms", body: "null", code: "invalid_type" },
  { path: "/rooms", body: "[]", code: "invalid_type" },
  { path: "/rooms", body: '"name"', code: "invalid_type" },
  { path: "/rooms", body: {}, code: "missing_required_parameter", param: "name" },
  { path: "/rooms", body: { name: 123 }, code: "invalid_type", param: "name" },
  { path: "/rooms", body: { name: "" }, code: "invalid_type", param: "name" },
  { path: "/rooms", body: { name: "x".repeat(129) }, code: "field_too_large", param: "name" },
  { path: "/rooms", body: { name: "x", password: "" }, code: "invalid_type", param: "password" },
  { path: "/rooms", body: '{"name":"x","__proto__":{"isAdmin":true}}', code: "invalid_type" },
  { path: "/rooms", body: '{"name":"x","constructor":{}}', code: "invalid_type" },
  { path: join, body: nested(30_000), code: "invalid_type" },
  {
    path: join,
    body: { ...good, specs: { deep: JSON.parse(nested(20)) as unknown } },
    code: "field_too_large",
    param: "specs",
  },
  {
    path: join,
    body: { ...good, specs: { big: "x".repeat(17_000) } },
    code: "field_too_large",
    param: "specs",
  },
  { path: "/rooms", body: { name: "x".repeat(70_000) }, code: "request_too_large" },
  { path: join, body: "x".repeat(70_000), code: "request_too_large" },
  {
    path: "/rooms",
    body: gzipSync('{"name":"zip"}'),
    headers: { "content-encoding": "gzip" },
    code: "unsupported_content_encoding",
  },
];

const ids: Failing[] = [
  "*",
  "any",
  "ANY",
  "model:x",
  "a/b",
  "",
  " a",
  "ä",
  "漢字",
  "a b",
  ".",
  "x".repeat(101),
].map((id) => ({ path: join, body: { ...good, id }, code: "invalid_id", param: "id" }));

const endpoints: Failing[] = [
  "file:///etc/passwd",
  "javascript:alert(1)",
  "ftp://host/v1",
  "data:text/plain,x",
  "http://user:pass@host/v1",
  "http://@host/v1",
  "http://host/v1?key=1",
  "http://host/v1#part",
  "http://ho st/v1",
  "http:\\\\host",
  "not a url",
  "",
  `http://host/${"x".repeat(2048)}`,
].map((endpoint) => ({
  path: join,
  body: { ...good, endpoint },
  code: "invalid_endpoint",
  param: "endpoint",
}));

const authHeaders: Failing[] = [
  { Authorization: "a\r\nx-evil: 1" },
  { Authorization: "a\nb" },
  { "x-a\r\nx-b": "1" },
  { Host: "evil" },
  { Connection: "close" },
  { "Transfer-Encoding": "chunked" },
  { "Content-Length": "0" },
  { Upgrade: "h2c" },
  { "Proxy-Authorization": "x" },
  { TE: "trailers" },
  { "X-Roomhub-Hop": "1" },
  { "": "x" },
  { "x-a": 1 },
  { "x-a": "" },
  { "x-a": "\u{1f600}" },
  { "x-a": "1", "X-A": "2" },
  Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`x-${index}`, "1"])),
  Object.fromEntries(Array.from({ length: 3 }, (_, index) => [`x-${index}`, "y".repeat(4000)])),
].map((headers) => ({
  path: join,
  body: { ...good, authHeaders: headers },
  code: "invalid_auth_header",
}));

const others: Failing[] = [
  { path: join, body: { ...good, authHeaders: "Authorization: x" }, code: "invalid_auth_header" },
  { path: join, body: { ...good, authHeaders: ["x"] }, code: "invalid_auth_header" },
  {
    path: join,
    body: JSON.stringify(good).replace("}", ',"authHeaders":{"__proto__":"x"}}'),
    code: "invalid_auth_header",
  },
  ...[`a${control}b`, "a\nb", "a\u202eb", "", "   ", "x".repeat(65)].map((nickname): Failing => ({
    path: join,
    body: { ...good, nickname },
    code: "invalid_nickname",
    param: "nickname",
  })),
  { path: join, body: { ...good, model: "" }, code: "invalid_type", param: "model" },
  {
    path: join,
    body: { ...good, model: "x".repeat(257) },
    code: "field_too_large",
    param: "model",
  },
  { path: join, body: { ...good, model: 7 }, code: "invalid_type", param: "model" },
  ...(["id", "nickname", "model", "endpoint"] as const).map((field): Failing => ({
    path: join,
    body: { ...good, [field]: undefined },
    code: "missing_required_parameter",
    param: field,
  })),
  { method: "PUT", path: put, body: { ...good, id: "q" }, code: "invalid_id", param: "id" },
  { method: "PUT", path: put, body: { nickname: "n" }, code: "missing_required_parameter" },
  {
    method: "PUT",
    path: "/v1/rooms/CODE/participants/any",
    body: { ...good, id: "any" },
    code: "invalid_id",
  },
  { path: "/rooms/CODE/health", body: {}, code: "missing_required_parameter", param: "id" },
  { path: "/rooms/CODE/health", body: { id: 1 }, code: "invalid_type", param: "id" },
];

const inference: Failing[] = [chat, responses].flatMap((path): Failing[] => [
  { path, body: "", code: "invalid_json" },
  { path, body: "{bad", code: "invalid_json" },
  { path, body: '{"model":"*"} trailing', code: "invalid_json" },
  // Reported by the scanner at its first byte: only an object or an array can begin here.
  { path, body: "null", code: "invalid_type" },
  { path, body: '["*"]', code: "invalid_type" },
  { path, body: {}, code: "missing_required_parameter", param: "model" },
  { path, body: { model: 1 }, code: "invalid_type", param: "model" },
  { path, body: { model: "" }, code: "invalid_type", param: "model" },
  { path, body: { model: null }, code: "invalid_type", param: "model" },
  { path, body: `{"model":"*","messages":${nested(100_000)}}`, code: "field_too_large" },
  { path, body: { model: "nobody" }, code: "model_not_found", param: "model" },
  { path, body: { model: "model:nobody" }, code: "model_not_found", param: "model" },
  { path, body: { model: "*", input: "x".repeat(2 ** 20) }, code: "request_too_large" },
  {
    path,
    body: gzipSync('{"model":"*"}'),
    headers: { "content-encoding": "gzip" },
    code: "unsupported_content_encoding",
  },
  { path, body: { model: "*" }, headers: { "x-roomhub-hop": "a,b,c,d" }, code: "routing_loop" },
]);

/** Small enough to be exceeded quickly. */
const limits = { inferenceBodyBytes: 2 ** 20 };

async function setUp() {
  await using stack = new AsyncDisposableStack();
  const provider = stack.use(await startFakeProvider());
  const hub = stack.use(await startTestHub({ limits }));
  const code = await hub.createRoom();
  await joinDirect(hub, code, { endpoint: provider.url });
  const owned = stack.move();
  return { hub, provider, code, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

function send(hub: TestHub, code: string, failing: Failing, isChunked = false): Promise<Response> {
  const { method = "POST", path, headers = {}, body } = failing;
  const isRaw = typeof body === "string" || Buffer.isBuffer(body) || body === undefined;
  const bytes = isRaw ? body : JSON.stringify(body);
  return hub.fetch(path.replace("CODE", code), {
    method,
    headers,
    body: isChunked && bytes !== undefined ? new Blob([bytes as string]).stream() : (bytes ?? null),
    ...(isChunked ? { duplex: "half" } : {}),
  } as RequestInit);
}

/** Everything an attempt could have changed. */
async function stateOf(hub: TestHub, code: string) {
  const rooms = await hub.client.listRooms();
  const participants = await hub.client.listParticipants(code);
  return { rooms, participants };
}

async function expectError(answer: Response, failing: Failing): Promise<void> {
  const text = await answer.text();
  const { error } = JSON.parse(text) as { error: Record<string, unknown> };
  const { status } = ERROR_STATUS[failing.code];
  expect({ status: answer.status, code: error["code"] }, text).toEqual({
    status,
    code: failing.code,
  });
  expect(error).toMatchObject({
    message: expect.stringMatching(/\S/),
    type: errorTypeOf(status),
    param: failing.param ?? expect.any(String),
  });
  expect(answer.headers.get("content-type")).toBe("application/json");
  expect(answer.headers.get("x-request-id")).toMatch(/\S/);
  expect(answer.headers.get("access-control-allow-origin")).toBe("*");
  expect(answer.headers.get("cache-control")).toBe("no-store");
  expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
  for (const [name, value] of Object.entries(failing.expectedHeaders ?? {})) {
    expect(answer.headers.get(name)).toBe(value);
  }
}

describe.each(Object.entries({ routing, bodies, ids, endpoints, authHeaders, others, inference }))(
  "what is wrong with %s",
  (_name, table) => {
    test("has OpenAI's shape, case by case, and changes nothing", async () => {
      await using room = await setUp();
      const events = await room.hub.watch(room.code);
      await events.next("room.created");
      const before = await stateOf(room.hub, room.code);
      for (const failing of table) {
        await expectError(await send(room.hub, room.code, failing), failing);
        const hasBody = failing.body !== undefined && failing.method !== "GET";
        if (hasBody) await expectError(await send(room.hub, room.code, failing, true), failing);
      }
      expect(await stateOf(room.hub, room.code)).toEqual(before);
      expect(
        events.events.filter(({ kind }) => kind !== "llm.error").map(({ kind }) => kind),
      ).toEqual(["room.created"]);
      expect(room.provider.requests.filter(({ method }) => method === "POST")).toEqual([]);
      const answer = await room.hub.fetch(`/rooms/${room.code}/v1/chat/completions`, {
        json: { model: "*", messages: userSays("still there?") },
      });
      expect(answer.status).toBe(200);
    });
  },
);

test("an error of routing lists the room's participants and the next step", async () => {
  await using room = await setUp();
  const answer = await send(room.hub, room.code, {
    path: chat,
    body: { model: "fake-modle" },
    code: "model_not_found",
  });
  expect(await answer.json()).toMatchObject({
    error: {
      stage: "routing",
      hint: expect.stringMatching(/\S/),
      participants: [{ id: "ada", model: "fake-model", reason: expect.stringMatching(/\S/) }],
    },
  });
});

test("a wrong base URL gets the right one in the hint", async () => {
  await using room = await setUp();
  const answer = await room.hub.fetch(`/rooms/${room.code.toLowerCase()}/chat/completions`, {
    json: {},
  });
  expect(await answer.json()).toMatchObject({
    error: {
      hint: expect.stringContaining(`${room.hub.url}/rooms/${room.code}/v1/chat/completions`),
    },
  });
});

test("a full queue is an error with the time to wait", async () => {
  await using provider = await startFakeProvider({ behave: () => ({ kind: "hang" }) });
  await using hub = await startTestHub({
    limits: { queuePerRoom: 1, queueWaitMs: 100, sweepIntervalMs: 10 },
  });
  const code = await hub.createRoom();
  await joinDirect(hub, code, { endpoint: provider.url, config: { maxConcurrency: 1 } });
  const leaving = new AbortController();
  const ask = () =>
    hub.fetch(`/rooms/${code}/v1/chat/completions`, {
      json: { model: "*" },
      signal: leaving.signal,
    });
  const running = ask().catch(() => undefined);
  await provider.waitFor(({ openGenerations }) => openGenerations === 1);
  const [one, other] = await Promise.all([ask(), ask()]);
  const [full, waited] = one.status === 429 ? [one, other] : [other, one];
  expect([full.status, full.headers.get("retry-after")]).toEqual([429, "5"]);
  expect(await full.json()).toMatchObject({
    error: { code: "queue_full", type: "rate_limit_error", stage: "queue" },
  });
  expect([waited.status, waited.headers.get("retry-after")]).toEqual([503, "5"]);
  expect(await waited.json()).toMatchObject({ error: { code: "queue_timeout", stage: "queue" } });
  leaving.abort();
  await running;
});

test("limits of rooms, participants and subscribers have errors of their own", async () => {
  await using hub = await startTestHub({
    limits: { rooms: 1, participantsPerRoom: 1, subscribersPerRoom: 1 },
  });
  const code = await hub.createRoom();
  await joinDirect(hub, code, { endpoint: good.endpoint });
  await using _watcher = await hub.watch(code);
  const answers = {
    room_limit_reached: await hub.fetch("/rooms", { json: { name: "two" } }),
    participant_limit_reached: await hub.fetch(`/rooms/${code}/join`, { json: good }),
    too_many_subscribers: await hub.fetch(`/rooms/${code}/events`),
  };
  for (const [errorCode, answer] of Object.entries(answers)) {
    expect(answer.status).toBe(503);
    expect(answer.headers.get("x-should-retry")).toBe("false");
    expect(await answer.json()).toMatchObject({ error: { code: errorCode } });
  }
});

test("a client that creates rooms without end is slowed down", async () => {
  await using hub = await startTestHub({ limits: { roomCreationBurst: 2 } });
  await hub.createRoom();
  await hub.createRoom();
  const answer = await hub.fetch("/rooms", { json: { name: "three" } });
  expect(answer.status).toBe(429);
  expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(await answer.json()).toMatchObject({ error: { code: "rate_limit_exceeded" } });
});
