import { KEY_RIGHTS, type NewKey } from "@roomhub/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Route } from "../../packages/hub/src/http/route.ts";
import { ROUTES } from "../../packages/hub/src/http/routes.ts";
import { CLOSE_CODES } from "@roomhub/tunnel";
import { joinDirect } from "../support/hub/joining.ts";
import { SessionAgent } from "../support/hub/session-agent.ts";
import { sendBytes } from "../support/clients/raw-http.ts";
import { startCluster, type TestCluster } from "../support/hub/start-cluster.ts";
import type { TestHub } from "../support/hub/start-test-hub.ts";

/**
 * Who may what in a closed room: by the route without its family. `host` is the host token, `token` a participant's.
 * A route that is not listed fails.
 */
const decisions: Record<string, string> = {
  "GET /": "any host token",
  "PUT /": "host",
  "DELETE /": "host",
  "POST /participants/:id/kick": "host",
  "GET /bans": "host",
  "DELETE /bans/:id": "host",
  "GET /blocked": "host",
  "PUT /blocked/:client": "host",
  "DELETE /blocked/:client": "host",
  "GET /watch": "page",
  "POST /join": "share token",
  "PUT /participants/:id": "share token",
  "PUT /participants/:id/features": "host",
  "DELETE /leave/:id": "share token",
  "DELETE /participants/:id": "share token",
  "GET /participants": "any host token",
  "GET /participants/:id": "any host token",
  "POST /health": "share token",
  "POST /participants/:id/heartbeat": "share token",
  "GET /participants/:id/tunnel": "share token",
  "GET /events": "watch host",
  "GET /requests": "watch host",
  "GET /route": "use host",
  "GET /aliases": "any host token",
  "POST /aliases": "host",
  "DELETE /aliases": "host",
  "POST /close": "host",
  "POST /open": "host",
  "GET /keys": "host",
  "POST /keys": "host",
  "DELETE /keys/:key": "host",
  "POST /keys/:key/rotate": "host",
  "GET /models": "use host",
  "GET /models/:model": "use host",
  "POST /chat/completions": "use",
  "POST /responses": "use",
  "GET /responses": "use",
  "POST /embeddings": "use",
  "POST /completions": "use",
  "POST /rerank": "use",
  "POST /audio/speech": "use",
  "POST /audio/transcriptions": "use",
  "POST /audio/translations": "use",
  "POST /images/generations": "use",
  "POST /images/edits": "use",
  "POST /messages": "use",
  "POST /messages/count_tokens": "use",
  "POST /responses/input_tokens": "use",
  "POST /responses/compact": "use",
  "GET /responses/:responseId": "use",
  "DELETE /responses/:responseId": "use",
  "POST /responses/:responseId/cancel": "use",
  "GET /responses/:responseId/input_items": "use",
};

const roomRoutes = ROUTES.filter(({ path }) => path.includes(":code"));

function decisionOf({ method, path }: Route): string {
  const rest = path.replace(/^(?:\/v1)?\/rooms\/:code(?:\/v[12](?=\/))?/, "") || "/";
  return decisions[`${method} ${rest}`] ?? "";
}

test("every route of a room has a decision, and every other route shows nothing of one", () => {
  expect(roomRoutes.filter((route) => decisionOf(route) === "").map(({ path }) => path)).toEqual(
    [],
  );
  expect(roomRoutes.filter(({ needs }) => needs === "none").map(({ path }) => path)).toEqual([
    "/rooms/:code/watch",
  ]);
  const others = ROUTES.filter((route) => !roomRoutes.includes(route));
  expect(others.filter(({ needs }) => needs !== "none")).toEqual([]);
});

const judged = roomRoutes.filter((route) => decisionOf(route) !== "page");

interface World {
  cluster: TestCluster;
  home: TestHub;
  code: string;
  hostToken: string;
  keys: Record<string, string>;
}

const limits = { keyFailuresBurst: 1_000_000, roomCreationBurst: 100 };
let world: World;

/** A closed room with a participant and a key of each right, at the first of two hubs. */
async function makeWorld(): Promise<World> {
  const cluster = await startCluster(2, { limits, adminSecret: "of the operator" });
  await cluster.linked();
  const [home] = cluster.hubs;
  if (home === undefined) throw new Error("the cluster has two hubs");
  const create = async () => {
    const response = await home.fetch("/rooms", { json: { name: "lab", closed: true } });
    return (await response.json()) as {
      room: { code: string };
      hostToken: string;
      key: NewKey;
    };
  };
  const { room, hostToken, key: first } = await create();
  const other = await create();
  const path = `/rooms/${room.code}`;
  const asHost = { "x-host-token": hostToken };
  const post = async (below: string, json: object, headers = asHost as Record<string, string>) => {
    const response = await home.fetch(path + below, { json, headers });
    expect([below, response.status]).toEqual([below, below.includes("rotate") ? 200 : 201]);
    return (await response.json()) as never;
  };
  const key = async (name: string, fields: object) =>
    (await (post("/keys", { name, ...fields }) as Promise<{ key: NewKey }>)).key.value;
  const keys: Record<string, string> = { first: first.value, foreign: other.key.value };
  for (const right of KEY_RIGHTS) keys[right] = await key(right, { may: [right] });
  keys["revoked"] = await key("revoked", {});
  keys["expired"] = await key("expired", { expiresInMs: 1 });
  keys["rotated"] = await key("rotated", {});
  await post("/keys/rotated/rotate", {});
  await home.fetch(`${path}/keys/revoked`, { method: "DELETE", headers: asHost });
  return { cluster, home, code: room.code, hostToken, keys };
}

beforeAll(async () => {
  world = await makeWorld();
}, 30_000);
afterAll(() => world.cluster[Symbol.asyncDispose]());

const ada = { id: "ada", nickname: "Ada", model: "m", endpoint: "http://127.0.0.1:9/v1" };

/** @returns the token of a participant that has just joined */
async function joinAda(hub: TestHub, code: string, key = ""): Promise<string> {
  const joined = await hub.fetch(`/rooms/${code}/join`, { json: ada, headers: bearer(key) });
  expect(joined.ok).toBe(true);
  return ((await joined.json()) as { participantToken: string }).participantToken;
}

function bearer(value: string): Record<string, string> {
  return { authorization: `Bearer ${value}` };
}

/** @returns the bytes of a WebSocket's handshake */
function handshake(path: string, headers: Record<string, string>): string {
  const lines = Object.entries({
    ...{ host: "hub", connection: "Upgrade", upgrade: "websocket" },
    ...{ "sec-websocket-version": "13", "sec-websocket-key": "MDEyMzQ1Njc4OWFiY2RlZg==" },
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `GET ${path} HTTP/1.1\r\n${lines.join("")}\r\n`;
}

interface Caller {
  headers: Record<string, string>;
  query?: string;
  code: string;
}

/** Requests that prove nothing, and what they get. */
function strangers(): Record<string, Caller> {
  const {
    first = "",
    foreign = "",
    use = "",
    revoked = "",
    expired = "",
    rotated = "",
  } = world.keys;
  const invalid = "invalid_api_key";
  return {
    "no key": { headers: {}, code: invalid },
    "another room's key": { headers: bearer(foreign), code: invalid },
    "a cut key": { headers: bearer(first.slice(0, -1)), code: invalid },
    "a longer key": { headers: bearer(`${first}a`), code: invalid },
    "a key in another case": { headers: bearer(first.toUpperCase()), code: invalid },
    "an encoded key": { headers: bearer(first.replace("_", "%5F")), code: invalid },
    "a key without its scheme": { headers: { authorization: first }, code: invalid },
    "a key in the query": {
      headers: {},
      query: `?key=${first}&api_key=${first}&authorization=Bearer%20${first}`,
      code: invalid,
    },
    "a key in a cookie": { headers: { cookie: `key=${first}; api-key=${first}` }, code: invalid },
    "two keys": { headers: { ...bearer(first), "x-api-key": use }, code: invalid },
    "two keys in Azure's header": {
      headers: { "x-api-key": first, "api-key": use },
      code: invalid,
    },
    "a name": { headers: bearer("as-host"), code: invalid },
    "another host token": { headers: { "x-host-token": `rhh_${"a".repeat(43)}` }, code: invalid },
    "another operator's secret": { headers: { "x-roomhub-admin": "of another" }, code: invalid },
    "another participant's token": {
      headers: { "x-participant-token": `rhp_${"a".repeat(43)}` },
      code: invalid,
    },
    "a forged hop": {
      headers: { "x-roomhub-peer": "{}", "x-forwarded-for": "127.0.0.1" },
      code: invalid,
    },
    "a revoked key": { headers: bearer(revoked), code: "key_revoked" },
    "a revoked key beside a host token": {
      headers: { ...bearer(revoked), "x-host-token": world.hostToken },
      code: "key_revoked",
    },
    "a value that was rotated": { headers: bearer(rotated), code: "key_revoked" },
    "an expired key": { headers: { "x-api-key": expired }, code: "key_expired" },
  };
}

function pathOf({ path }: Route): string {
  return path
    .replace(":code", world.code)
    .replace(":id", path.endsWith("/kick") ? "unknown" : "ada")
    .replace(":key", "unknown")
    .replace(":client", "unknown")
    .replace(":model", "m")
    .replace(":responseId", "resp_1");
}

async function send(hub: TestHub, route: Route, { headers, query = "" }: Caller, method: string) {
  const hasBody = method === "POST" || method === "PUT";
  const response = await hub.fetch(pathOf(route) + query, {
    ...{ method, headers, redirect: "manual" },
    ...(hasBody ? { body: JSON.stringify({ model: "m", messages: [] }) } : {}),
  });
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  if (isStream) await response.body?.cancel();
  const text = isStream ? "" : await response.text();
  const body = text === "" ? undefined : (JSON.parse(text) as ErrorShape);
  return { status: response.status, headers: response.headers, body };
}

type ErrorShape = { type?: string; error?: { code?: string; type?: string }; request_id?: string };

describe.each([
  ["at the room's home", 0],
  ["through another hub", 1],
])("a closed room %s", (_where, index) => {
  const hub = () => world.cluster.hubs[index] ?? world.home;

  test.each(judged.map((route) => [`${route.method} ${route.path}`, route] as const))(
    "%s refuses what proves nothing, with one body for all of it",
    async (_title, route) => {
      const bodies = new Set<string>();
      for (const [who, caller] of Object.entries(strangers())) {
        const methods = route.method === "GET" ? ["GET", "HEAD"] : [route.method];
        for (const method of methods) {
          const { status, headers, body } = await send(hub(), route, caller, method);
          expect([who, method, status]).toEqual([who, method, 401]);
          expect(headers.get("www-authenticate")).toBe('Bearer realm="roomhub"');
          expect(headers.get("x-should-retry")).toBe("false");
          if (method === "HEAD") continue;
          expect([who, body?.error?.code]).toEqual([who, caller.code]);
          delete body?.request_id;
          if (caller.code === "invalid_api_key") bodies.add(JSON.stringify(body));
        }
      }
      expect([...bodies]).toHaveLength(1);
    },
  );

  test.each(judged.map((route) => [`${route.method} ${route.path}`, route] as const))(
    "%s is open to those who may, and to no other holder",
    async (_title, route) => {
      const allowed = decisionOf(route).split(" ");
      const { keys, hostToken, code } = world;
      const token = await joinAda(hub(), code, keys["share"]);
      const callers: Record<string, Record<string, string>> = {
        // First: the token ends when its participant leaves.
        token: { "x-participant-token": token },
        ...Object.fromEntries(KEY_RIGHTS.map((right) => [right, bearer(keys[right] ?? "")])),
        host: { "x-host-token": hostToken },
        operator: { "x-roomhub-admin": "of the operator" },
      };
      for (const [who, headers] of Object.entries(callers)) {
        const role = who === "operator" ? "host" : who;
        // Deleting it is for another test.
        if (role === "host" && route.method === "DELETE" && route.path.endsWith("/:code")) continue;
        const { status, body } = await send(hub(), route, { headers, code: "" }, route.method);
        const isKey = KEY_RIGHTS.some((right) => right === who);
        const mayEnter = allowed.includes(role) || (isKey && allowed.includes("any"));
        const refused = body?.error?.code === "not_allowed" && status === 403;
        expect([who, refused]).toEqual([who, !mayEnter]);
        expect([who, status]).not.toEqual([who, 401]);
        // What changed the room is undone for the next one.
        if (!route.path.endsWith("/open") || !mayEnter) continue;
        const path = `/rooms/${code}/close`;
        await hub().fetch(path, { method: "POST", headers: { "x-host-token": hostToken } });
      }
    },
  );

  test("a key works in each of three headers, and twice the same is one", async () => {
    const { use = "" } = world.keys;
    const route = judged.find(({ path }) => path === "/rooms/:code/v1/models");
    if (route === undefined) throw new Error("there is no such route");
    const ways = [
      bearer(use),
      { authorization: `bearer  ${use}` },
      { "x-api-key": use },
      { "api-key": use },
      { authorization: "Bearer as-bob", "x-api-key": use },
      { ...bearer(use), "x-api-key": use, "api-key": use },
    ];
    for (const headers of ways) {
      expect((await send(hub(), route, { headers, code: "" }, "GET")).status).toBe(200);
    }
  });

  test("OPTIONS needs no key", async () => {
    for (const route of judged) {
      expect((await send(hub(), route, { headers: {}, code: "" }, "OPTIONS")).status).toBe(204);
    }
  });

  test("clients of Anthropic get errors in their shape", async () => {
    for (const route of judged) {
      const isMessages = /\/messages/.test(route.path);
      const headers: Record<string, string> = { "anthropic-version": "2023-06-01" };
      const { body } = await send(hub(), route, { headers, code: "" }, route.method);
      const isInference = ["inference", "responses-socket"].includes(route.kind) && !isMessages;
      const type = isInference ? "permission_error" : "authentication_error";
      expect([route.path, body?.error?.type]).toEqual([route.path, type]);
    }
  });

  test("a request is refused by its head: neither its body nor 100 Continue is waited for", async () => {
    const bodies = {
      "application/json": '{"model":',
      "multipart/form-data; boundary=x": '--x\r\ncontent-disposition: form-data; name="file"\r\n',
    };
    for (const route of judged.filter(({ method }) => method === "POST")) {
      for (const [type, body] of Object.entries(bodies)) {
        const request = `POST ${pathOf(route)} HTTP/1.1\r\nhost: hub\r\ncontent-type: ${type}`;
        const head = `${request}\r\ncontent-length: 100000000\r\n`;
        for (const rest of [`expect: 100-continue\r\n\r\n`, `\r\n${body}`]) {
          const { status, error } = await sendBytes(hub().port, head + rest);
          expect([request, status, error?.code]).toEqual([request, 401, "invalid_api_key"]);
        }
      }
    }
  });

  test.each(judged.filter(({ kind }) => kind === "tunnel" || kind === "responses-socket"))(
    "an upgrade of $path is refused before the handshake",
    async (route) => {
      for (const [who, { headers, query = "", code }] of Object.entries(strangers())) {
        const answer = await sendBytes(hub().port, handshake(pathOf(route) + query, headers));
        expect([who, answer.status, answer.error?.code]).toEqual([who, 401, code]);
        expect(answer.headers["www-authenticate"]).toBe('Bearer realm="roomhub"');
      }
    },
  );

  test("lists of the hub have the room for those who may enter it", async () => {
    const { keys, hostToken, code } = world;
    const listed = async (headers: Record<string, string>) => {
      const response = await hub().fetch("/rooms", { headers });
      const { rooms } = (await response.json()) as { rooms: { code: string }[] };
      return rooms.some((room) => room.code === code);
    };
    expect(await listed({})).toBe(false);
    expect(await listed(bearer(keys["foreign"] ?? ""))).toBe(false);
    expect(await listed(bearer(keys["revoked"] ?? ""))).toBe(false);
    expect(await listed(bearer(keys["watch"] ?? ""))).toBe(true);
    expect(await listed({ "x-host-token": hostToken })).toBe(true);
    expect(await listed({ "x-roomhub-admin": "of the operator" })).toBe(true);
  });

  test("its page says that it is closed, and nothing else of it", async () => {
    const headers = { accept: "text/html" };
    const page = await hub().fetch(`/rooms/${world.code}`, { headers });
    expect(page.status).toBe(200);
    const text = await page.text();
    expect(text).toContain("Ask its host for a key");
    expect(text).not.toMatch(/lab|Ada|ada/);
    expect(await (await hub().fetch("/", { headers })).text()).not.toContain(world.code);
  });
});

test("the tunnel session of a participant elsewhere opens no socket of a closed room", async () => {
  const { home, code } = world;
  const open = await home.createRoom();
  const endpoint = "http://127.0.0.1:9/v1";
  const { answer } = await joinDirect(home, open, { endpoint, transport: "tunnel" });
  const agent = new SessionAgent(open, answer);
  const { session } = await agent.open(home);
  const { resumeId = "" } = session;
  expect(resumeId).not.toBe("");
  for (const path of [`/v1/rooms/${code}/responses`, `/v1/rooms/${code}/participants/ada/tunnel`]) {
    const answered = await sendBytes(home.port, handshake(path, { "x-roomhub-session": resumeId }));
    expect([answered.status, answered.error?.code]).toEqual([401, "invalid_api_key"]);
  }
  session.close(CLOSE_CODES.done, "over");
});

test("streams of the whole hub leave closed rooms out, at each hub of a cluster, and count nothing of them", async () => {
  await using cluster = await startCluster(2, { limits });
  await cluster.linked();
  const [first, second] = cluster.hubs;
  if (first === undefined || second === undefined) throw new Error("the cluster has two hubs");
  const streams = await Promise.all([first, second].map((hub) => hub.watch(undefined)));
  const response = await first.fetch("/rooms", { json: { name: "secret", closed: true } });
  const { room, key } = (await response.json()) as { room: { code: string }; key: NewKey };
  const headers = bearer(key.value);
  await joinAda(first, room.code, key.value);
  const body = { model: "unknown", messages: [] };
  await first.fetch(`/rooms/${room.code}/v1/chat/completions`, { json: body, headers });
  const open = await first.createRoom();
  for (const stream of streams) {
    const event = await stream.next("room.created");
    expect(event.data).toMatchObject({ roomCode: open });
    expect(JSON.stringify(stream)).not.toContain(room.code);
  }
});

test("an open room takes any key and shows nothing of it", async () => {
  const { home, keys } = world;
  const code = await home.createRoom();
  const events = await home.watch(code);
  const json = { model: "unknown", messages: [] };
  const headers = bearer(keys["first"] ?? "");
  await home.fetch(`/rooms/${code}/v1/chat/completions`, { json, headers });
  const { data } = await events.next("llm.error");
  expect(data).toMatchObject({ client: { kind: "none", id: "" } });
  expect((await home.fetch(`/rooms/${code}/models`, { headers })).status).toBe(404);
  expect((await home.fetch(`/rooms/${code}/v1/models`)).status).toBe(200);
  expect((await home.fetch(`/rooms/${code}`)).status).toBe(200);
});
