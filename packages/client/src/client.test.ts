import { describe, expect, test } from "vitest";
import { RoomhubClient } from "./client.ts";
import {
  HubUnreachableError,
  isHubUnreachableError,
  isRoomhubError,
  RoomhubError,
} from "./errors.ts";
import { sendJson, startFakeHub } from "./fake-hub.fixture.ts";

const ada = { id: "ada", nickname: "Ada", model: "llama3", endpoint: "http://127.0.0.1:11434" };

test.each<[string, (client: RoomhubClient) => Promise<unknown>, string]>([
  ["createRoom", (c) => c.createRoom({ name: "lab" }), "POST /v1/rooms"],
  ["listRooms", (c) => c.listRooms(), "GET /v1/rooms"],
  ["getRoom", (c) => c.getRoom("abc234"), "GET /v1/rooms/ABC234"],
  ["join", (c) => c.join("abc234", ada), "POST /rooms/ABC234/join"],
  [
    "updateParticipant",
    (c) => c.updateParticipant("ABC234", "a:b", {}),
    "PUT /v1/rooms/ABC234/participants/a%3Ab",
  ],
  ["leave", (c) => c.leave("ABC234", "ada"), "DELETE /v1/rooms/ABC234/participants/ada"],
  ["listParticipants", (c) => c.listParticipants("ABC234"), "GET /v1/rooms/ABC234/participants"],
  [
    "getParticipant",
    (c) => c.getParticipant("ABC234", "ada"),
    "GET /v1/rooms/ABC234/participants/ada",
  ],
  [
    "heartbeat",
    (c) => c.heartbeat("ABC234", "ada"),
    "POST /v1/rooms/ABC234/participants/ada/heartbeat",
  ],
  ["listModels", (c) => c.listModels("ABC234"), "GET /v1/rooms/ABC234/models"],
  ["listRequests", (c) => c.listRequests("abc234"), "GET /v1/rooms/ABC234/requests"],
  ["listAliases", (c) => c.listAliases("abc234"), "GET /v1/rooms/ABC234/aliases"],
  ["setAlias", (c) => c.setAlias("abc234", "claude-*", ["*"]), "POST /v1/rooms/ABC234/aliases"],
  [
    "removeAlias",
    (c) => c.removeAlias("abc234", "a/b&c *"),
    "DELETE /v1/rooms/ABC234/aliases?pattern=a%2Fb%26c+*",
  ],
  [
    "setMeasuredFeatures",
    (c) => c.setMeasuredFeatures("abc234", "a b", { tools: "supported" }),
    "PUT /v1/rooms/ABC234/participants/a%20b/features",
  ],
  ["health", (c) => c.health(), "GET /v1/health"],
  ["explainRoute", (c) => c.explainRoute("abc234", {}), "GET /v1/rooms/ABC234/route?"],
  [
    "explainRoute with a question",
    (c) => c.explainRoute("abc234", { model: "a/b:c&d", protocol: "openResponses" }),
    "GET /v1/rooms/ABC234/route?model=a%2Fb%3Ac%26d&protocol=openResponses",
  ],
])("%s requests the right resource", async (_name, call, expected) => {
  const body = { version: "1.2.3" };
  await using hub = await startFakeHub((_request, response) => sendJson(response, 200, body));
  await call(new RoomhubClient({ hubUrl: `${hub.url}/v1/` }));
  expect(hub.requests.map(({ method, url }) => `${method} ${url}`)).toEqual([expected]);
});

test("the participant token is sent as a header and never in the URL", async () => {
  await using hub = await startFakeHub((_request, response) => sendJson(response, 200, {}));
  const client = new RoomhubClient({ hubUrl: hub.url });
  await client.join("ABC234", ada, { token: "rhp_1" });
  await client.updateParticipant("ABC234", "ada", { nickname: "A" }, { token: "rhp_2" });
  await client.leave("ABC234", "ada", { token: "rhp_3" });
  await client.heartbeat("ABC234", "ada", { token: "rhp_4" });
  expect(hub.requests.map(({ token }) => token)).toEqual(["rhp_1", "rhp_2", "rhp_3", "rhp_4"]);
  expect(hub.requests.map(({ url }) => url).join()).not.toContain("rhp_");
  expect(JSON.parse(hub.requests[0]!.body)).toEqual(ada);
});

test("the host token is sent as a header and never in the URL", async () => {
  const headers: unknown[] = [];
  const client = new RoomhubClient({
    hubUrl: "http://hub.test",
    fetch: async (url, init) => {
      expect(url).not.toContain("rhh_");
      headers.push(init.headers);
      return Response.json({ alias: { pattern: "a", targets: ["*"] } });
    },
  });
  const alias = await client.setAlias("ABC234", "a", ["*"], { hostToken: "rhh_1" });
  await client.removeAlias("ABC234", "a", { hostToken: "rhh_2" });
  expect(alias).toEqual({ pattern: "a", targets: ["*"] });
  expect(headers).toMatchObject([{ "x-host-token": "rhh_1" }, { "x-host-token": "rhh_2" }]);
});

test("lists are returned without their envelope", async () => {
  await using hub = await startFakeHub((_request, response) => {
    sendJson(response, 200, {
      rooms: [1],
      participants: [2],
      data: [3],
      requests: [4],
      aliases: [5],
    });
  });
  const client = new RoomhubClient({ hubUrl: hub.url });
  expect(await client.listRooms()).toEqual([1]);
  expect(await client.listParticipants("ABC234")).toEqual([2]);
  expect(await client.listModels("ABC234")).toEqual([3]);
  expect(await client.listRequests("ABC234")).toEqual([4]);
  expect(await client.listAliases("ABC234")).toEqual([5]);
});

test("an error has every detail of the error response", async () => {
  await using hub = await startFakeHub((_request, response) => {
    const participants = [{ id: "ada", model: "llama3", reason: "offline" }];
    const error = {
      message: "Wrong password.",
      type: "permission_error",
      param: "password",
      code: "invalid_password",
      hint: "roomhub join …",
      participants,
    };
    sendJson(response, 401, { error }, { "x-request-id": "req-1", "retry-after": "2" });
  });
  const refusal = new RoomhubClient({ hubUrl: hub.url }).join("ABC234", ada);
  await expect(refusal).rejects.toBeInstanceOf(RoomhubError);
  await expect(refusal).rejects.toMatchObject({
    status: 401,
    code: "invalid_password",
    message: "Wrong password.",
    param: "password",
    hint: "roomhub join …",
    requestId: "req-1",
    retryAfterMs: 2000,
    participants: [{ id: "ada", model: "llama3", reason: "offline" }],
  });
});

test.each([
  [404, "<html>nothing here</html>"],
  [502, ""],
  [200, "<html>hello</html>"],
  [500, '{"error":"text"}'],
  [500, "null"],
])("status %i with the body %j is reported as not from a hub", async (status, body) => {
  await using hub = await startFakeHub((_request, response) => {
    response.writeHead(status).end(body);
  });
  await expect(new RoomhubClient({ hubUrl: hub.url }).listRooms()).rejects.toMatchObject({
    name: "RoomhubError",
    status,
    code: "invalid_response",
    hint: expect.stringContaining("check the hub URL"),
  });
});

test("health resolves for a draining hub", async () => {
  await using hub = await startFakeHub((_request, response) => {
    sendJson(response, 503, { status: "draining", version: "1.2.3" });
  });
  const health = await new RoomhubClient({ hubUrl: hub.url }).health();
  expect(health).toMatchObject({ status: "draining" });
});

test("health of a model server that has a status of its own is rejected", async () => {
  await using hub = await startFakeHub((_request, response) => {
    sendJson(response, 200, { status: "ok" });
  });
  await expect(new RoomhubClient({ hubUrl: hub.url }).health()).rejects.toMatchObject({
    message: `${hub.url}/v1/health sent a response that is not from a roomhub hub`,
    code: "invalid_response",
  });
});

test.each([
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "is not trusted here", "NODE_EXTRA_CA_CERTS"],
  ["CERT_HAS_EXPIRED", "has expired", "renew it"],
  ["CERT_NOT_YET_VALID", "is not valid yet", "clock"],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "for another name: it is for hub.example", "host name"],
])("a certificate rejected with %s is named, with the next step", async (code, problem, hint) => {
  const cause = Object.assign(new Error("tls"), { code, reason: "it is for hub.example" });
  const fetch = () => Promise.reject(new TypeError("fetch failed", { cause }));
  const failure = new RoomhubClient({ hubUrl: "https://hub:5050", fetch }).health();
  await expect(failure).rejects.toMatchObject({
    message: expect.stringContaining(`is unreachable: it has a certificate`),
    hint: expect.stringContaining(hint),
    isTlsProblem: true,
  });
  await expect(failure).rejects.toThrow(problem);
});

test("an unreachable hub is reported with its URL, the reason and the next step", async () => {
  const stopped = await startFakeHub(() => {});
  await stopped[Symbol.asyncDispose]();
  const failure = new RoomhubClient({ hubUrl: stopped.url }).health();
  await expect(failure).rejects.toBeInstanceOf(HubUnreachableError);
  const error = await failure.catch((thrown: unknown) => thrown as HubUnreachableError);
  expect(error).toMatchObject({
    hubUrl: stopped.url,
    hint: "check that the hub is running, and that this is its address and port",
  });
  expect((error as Error).message).toMatch(/^Hub at http:\S+ is unreachable: .*ECONNREFUSED/);
});

test("what a browser says of any failed request is no reason", () => {
  const { message } = new HubUnreachableError("http://hub", new TypeError("Failed to fetch"));
  expect(message).toBe("Hub at http://hub is unreachable: no response");
  const invalid = Object.assign(new TypeError("Invalid URL"), { code: "ERR_INVALID_URL" });
  const outer = new TypeError("fetch failed", { cause: invalid });
  expect(new HubUnreachableError("http://hub", outer).message).toMatch(/: Invalid URL$/);
});

test("the hint for https on a plain HTTP port is the right URL", async () => {
  await using hub = await startFakeHub(() => {});
  const hubUrl = hub.url.replace("http:", "https:");
  const failure = new RoomhubClient({ hubUrl }).health();
  await expect(failure).rejects.toMatchObject({
    message: expect.stringMatching(/: the server uses plain HTTP, not TLS$/),
    hint: `use ${hub.url}`,
  });
});

test("the hint for http on a TLS port is the right URL", async () => {
  await using hub = await startFakeHub((_request, response) => {
    response.writeHead(400).end("<h1>The plain HTTP request was sent to HTTPS port</h1>");
  });
  await expect(new RoomhubClient({ hubUrl: hub.url }).health()).rejects.toMatchObject({
    code: "invalid_response",
    hint: expect.stringContaining("use https://127.0.0.1"),
  });
});

test("a call to a hub that never responds times out", async () => {
  await using hub = await startFakeHub(() => {});
  const client = new RoomhubClient({ hubUrl: hub.url, timeoutMs: 30 });
  await expect(client.health()).rejects.toThrow("no response in 30 ms");
});

test("aborting a call rejects with the signal's own reason", async () => {
  const controller = new AbortController();
  const reason = new Error("changed my mind");
  await using hub = await startFakeHub(() => controller.abort(reason));
  const { signal } = controller;
  await expect(new RoomhubClient({ hubUrl: hub.url }).health({ signal })).rejects.toBe(reason);
});

test("the base URL fits an OpenAI SDK", () => {
  const client = new RoomhubClient({ hubUrl: "http://127.0.0.1:5050/v1/" });
  expect(client.baseUrl("abc234")).toBe("http://127.0.0.1:5050/rooms/ABC234/v1");
});

test("errors of another copy of this package are recognised", async () => {
  const foreign = Object.assign(new Error("gone"), {
    [Symbol.for("roomhub.error.refusal")]: true,
    code: "room_not_found",
  });
  expect(isRoomhubError(foreign)).toBe(true);
  expect(isRoomhubError(foreign, "room_not_found")).toBe(true);
  expect(isRoomhubError(foreign, "invalid_password")).toBe(false);
  for (const other of [new Error("gone"), { code: "room_not_found" }, undefined, "gone"]) {
    expect(isRoomhubError(other)).toBe(false);
    expect(isHubUnreachableError(other)).toBe(false);
  }

  await using hub = await startFakeHub((_request, response) => sendJson(response, 404, {}));
  const client = new RoomhubClient({ hubUrl: hub.url });
  const refusal: unknown = await client.health().catch((error: unknown) => error);
  expect([isRoomhubError(refusal), isHubUnreachableError(refusal)]).toEqual([true, false]);
  await hub[Symbol.asyncDispose]();
  const silence: unknown = await client.health().catch((error: unknown) => error);
  expect([isRoomhubError(silence), isHubUnreachableError(silence)]).toEqual([false, true]);
});

describe("a closed room", () => {
  const value = `rhk_${"k".repeat(43)}`;

  test("gets the key in a header of every request, and of the event stream", async () => {
    const sent: (string | null)[] = [];
    const client = new RoomhubClient({
      hubUrl: "http://127.0.0.1:5050",
      key: value,
      fetch: async (url, { headers }) => {
        expect(url).not.toContain(value);
        sent.push(new Headers(headers).get("authorization"));
        return url.endsWith("/events")
          ? new Response("", { headers: { "content-type": "text/event-stream" } })
          : Response.json({ room: { code: "ABC234" } });
      },
    });
    const room = await client.room("ABC234");
    for await (const _event of room.events({ reconnect: false })) expect.unreachable();
    expect(sent).toEqual([`Bearer ${value}`, `Bearer ${value}`]);
    expect(room.key).toBe(value);
    expect(JSON.stringify(room)).not.toContain(value);
  });

  test("its host sends the proof in a header of its own", async () => {
    const sent: [method: string, path: string, proof: string | null, body: unknown][] = [];
    const client = new RoomhubClient({
      hubUrl: "http://127.0.0.1:5050",
      fetch: async (url, { method, headers, body }) => {
        const given = new Headers(headers);
        const proof = given.get("x-host-token") ?? given.get("x-roomhub-admin");
        sent.push([method ?? "", url.slice(21), proof, body ?? undefined]);
        return Response.json({ key: { name: "ada" }, keys: [], room: {} });
      },
    });
    const host = client.asHost("abc234", { hostToken: "rhh_1" });
    await client.createRoom({ name: "lab" }, { operatorSecret: "s" });
    await host.setClosed(true);
    await host.rename("lab");
    await host.setPassword(null);
    await host.kick("a/b");
    await host.kick("ada", 5);
    await host.setBlocked("2001:db8::1", true);
    await host.setBlocked("eve", false);
    await host.bans();
    await host.liftBan("a/b");
    await host.blocked();
    await host.delete();
    await host.createKey({ name: "ada" });
    await host.listKeys();
    await host.rotateKey("ada", 5);
    await client.asHost("ABC234", { operatorSecret: "s" }).revokeKey("a/b");
    const below = "/v1/rooms/ABC234";
    expect(sent).toEqual([
      ["POST", "/v1/rooms", "s", '{"name":"lab"}'],
      ["POST", `${below}/close`, "rhh_1", undefined],
      ["PUT", below, "rhh_1", '{"name":"lab"}'],
      ["PUT", below, "rhh_1", '{"password":null}'],
      ["POST", `${below}/participants/a%2Fb/kick`, "rhh_1", undefined],
      ["POST", `${below}/participants/ada/kick?banMs=5`, "rhh_1", undefined],
      ["PUT", `${below}/blocked/2001%3Adb8%3A%3A1`, "rhh_1", undefined],
      ["DELETE", `${below}/blocked/eve`, "rhh_1", undefined],
      ["GET", `${below}/bans`, "rhh_1", undefined],
      ["DELETE", `${below}/bans/a%2Fb`, "rhh_1", undefined],
      ["GET", `${below}/blocked`, "rhh_1", undefined],
      ["DELETE", below, "rhh_1", undefined],
      ["POST", `${below}/keys`, "rhh_1", '{"name":"ada"}'],
      ["GET", `${below}/keys`, "rhh_1", undefined],
      ["POST", `${below}/keys/ada/rotate?graceMs=5`, "rhh_1", undefined],
      ["DELETE", `${below}/keys/a%2Fb`, "s", undefined],
    ]);
  });
});
