import Anthropic from "@anthropic-ai/sdk";
import { systemWorld } from "@roomhub/protocol";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { toFile } from "openai";
import { ResponsesWS } from "openai/resources/responses/ws";
import { describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import type { DoorOptions } from "../../packages/cli/src/door/door.ts";
import { openaiAt, userSays } from "../support/clients/openai-client.ts";
import { sendBytes } from "../support/clients/raw-http.ts";
import { startConnectProxy } from "../support/hub/connect-proxy.ts";
import { joinTunnel } from "../support/hub/joining.ts";
import { startMiddle } from "../support/hub/middle.ts";
import { doorKey, startDoor } from "../support/hub/start-door.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";
import { pinOf, testCertificate, trust } from "../support/hub/test-certificate.ts";
import { type FakeProviderOptions, startFakeProvider } from "../support/providers/fake-provider.ts";
import { startUploadServer } from "../support/providers/upload-server.ts";
import { until } from "../support/waiting.ts";

const pair = testCertificate({ names: ["roomhub"] });
const pin = pinOf(pair);
const messages = userSays("canary to be or not");

/** A closed room of a hub whose key the door knows, with a model, and the place where an attacker stands. */
async function startSealedRoom(
  more: Partial<DoorOptions> = {},
  behave?: FakeProviderOptions["behave"],
) {
  await using stack = new AsyncDisposableStack();
  const hub = stack.use(await startTestHub({ tls: pair }));
  const middle = stack.use(await startMiddle(hub.port));
  const provider = stack.use(
    await startFakeProvider({
      behave: (request) => (request.json["model"] === undefined ? undefined : behave?.(request)),
    }),
  );
  const made = await hub.client.createRoom({ name: "lab", closed: true });
  const { code } = made.room;
  const key = made.key?.value ?? "";
  stack.use(await joinTunnel(hub, code, { endpoint: provider.url, key }));
  const hubUrl = `https://127.0.0.1:${middle.port}`;
  const door = stack.use(await startDoor(hubUrl, code, { pin, hubKey: key, ...more }));
  const owned = stack.move();
  return {
    ...{ hub, middle, provider, code, door, key },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

describe("the door to a closed room of a pinned hub", () => {
  test("serves the OpenAI SDK, and a listener on the network reads neither prompt nor key", async () => {
    await using room = await startSealedRoom();
    const { openai } = room.door;
    const whole = await openai.chat.completions.create({ model: "*", messages });
    expect(whole.choices[0]?.message.content).toBe("canary to be or not");
    const stream = await openai.chat.completions.create({ model: "*", messages, stream: true });
    let text = "";
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
    expect(text).toBe("canary to be or not");
    expect((await openai.models.list()).data).toHaveLength(1);
    const wire = Buffer.concat(room.middle.wire).toString("latin1");
    expect(wire.length).toBeGreaterThan(1_000);
    expect(wire).not.toMatch(/canary|HTTP\/1|rhk_|rhd_/);
    expect(room.door.requests.map(({ method, path, status }) => [method, path, status])).toEqual([
      ["POST", "/v1/chat/completions", 200],
      ["POST", "/v1/chat/completions", 200],
      ["GET", "/v1/models", 200],
    ]);
  });

  test("serves Anthropic's SDK", async () => {
    await using room = await startSealedRoom();
    const anthropic = new Anthropic({
      ...{ baseURL: room.door.url.replace("/v1", ""), apiKey: doorKey, maxRetries: 0 },
    });
    const message = await anthropic.messages.create({ model: "*", max_tokens: 9, messages });
    expect(message.content[0]).toMatchObject({ type: "text" });
  });

  test("forwards neither its own key nor cookies to the hub", async () => {
    await using room = await startSealedRoom();
    await fetch(`${room.door.url}/chat/completions`, {
      ...{ method: "POST", body: JSON.stringify({ model: "*", messages }) },
      headers: { "x-api-key": doorKey, authorization: `Bearer ${doorKey}`, cookie: "a=canary" },
    });
    const seen = JSON.stringify([room.hub.log, room.provider.requests]);
    expect(seen).not.toMatch(/rhd_|a=canary/);
  });

  test("cancels at the model server when the client leaves", async () => {
    await using room = await startSealedRoom({}, () => ({ kind: "hang-mid-stream" }));
    const request = { model: "*", messages, stream: true } as const;
    const stream = await room.door.openai.chat.completions.create(request);
    for await (const _chunk of stream) break;
    await room.provider.waitFor(({ aborted }) => aborted === 1);
    expect(room.door.requests.at(-1)).toMatchObject({ status: 200, problem: "the client left" });
  });

  test("breaks the client's stream off where the hub breaks off", async () => {
    await using room = await startSealedRoom({}, () => ({ kind: "hang-mid-stream" }));
    const request = { model: "*", messages, stream: true } as const;
    const stream = await room.door.openai.chat.completions.create(request);
    const read = async () => {
      for await (const _chunk of stream) room.middle.cut();
    };
    await expect(read()).rejects.toThrow();
    expect(room.door.requests.at(-1)?.problem).toContain("before its response was whole");
  });

  test("passes the hub's own errors unchanged", async () => {
    await using room = await startSealedRoom();
    const body = JSON.stringify({ model: "none", messages });
    const [direct, passed] = await Promise.all(
      [
        [`${room.hub.url}/rooms/${room.code}/v1`, room.key],
        [room.door.url, doorKey],
      ].map(async ([url, key]) => {
        const headers = { authorization: `Bearer ${key}` };
        const response = await fetch(`${url}/chat/completions`, { method: "POST", headers, body });
        return [response.status, response.headers.get("x-should-retry"), await response.json()];
      }),
    );
    expect(passed).toEqual(direct);
    expect(passed?.[0]).toBe(404);
  });

  test("opens the WebSocket of responses", async () => {
    await using room = await startSealedRoom();
    const socket = new ResponsesWS(room.door.openai);
    const text = new Promise((resolve, reject) => {
      socket.on("error", reject);
      socket.on("response.output_text.done", (event) => resolve(event.text));
    });
    socket.send({ type: "response.create", model: "*", input: "to be" });
    expect(await text).toBe("to be");
    socket.close();
    await until(
      "its end",
      () => room.door.requests.at(-1),
      (last) => last?.status === 101,
    );
  });

  test("uploads a form byte for byte", async () => {
    await using server = await startUploadServer();
    await using room = await startSealedRoom();
    await using _bob = await joinTunnel(room.hub, room.code, {
      ...{ id: "bob", model: "m", endpoint: server.url, key: room.key },
    });
    const sound = randomBytes(3_000_000);
    const file = await toFile(sound, "a.wav");
    const heard = await room.door.openai.audio.transcriptions.create({ model: "m", file });
    expect(heard.text).toBe("hello");
    expect(server.forms[0]?.bytes).toBeGreaterThan(sound.length);
    expect(server.forms[0]?.state).toBe("whole");
  });
});

test("a door that closes ends a WebSocket on which nothing has passed for 30 s, and waits for another", async () => {
  let skewMs = 0;
  let sweep = (): void => undefined;
  await using room = await startSealedRoom({
    world: {
      ...systemWorld,
      monotonicMs: () => systemWorld.monotonicMs() + skewMs,
      setInterval: (task, ms) => {
        sweep = task;
        return systemWorld.setInterval(task, ms);
      },
    },
  });
  const open = async () => {
    const headers = { authorization: `Bearer ${doorKey}` };
    const socket = new WebSocket(`${room.door.url.replace("http", "ws")}/responses`, { headers });
    await once(socket, "open");
    return socket;
  };
  const quiet = await open();
  const busy = await open();
  sweep();
  skewMs += 31_000;
  const completed = new Promise<void>((resolve) => {
    busy.on("message", (data: Buffer) => data.includes("response.completed") && resolve());
  });
  busy.send(JSON.stringify({ type: "response.create", model: "*", input: "to be" }));
  await completed;
  const closed = once(quiet, "close");
  const drained = room.door.drain();
  expect((await closed)[0]).toBe(1001);
  await until(
    "the end of one",
    () => room.door.running(),
    (count) => count === 1,
  );
  expect(busy.readyState).toBe(WebSocket.OPEN);
  busy.close();
  await drained;
});

test("the certificate of a hub without a pin has to be trusted on this machine", async () => {
  const signed = testCertificate();
  await using hub = await startTestHub({ tls: signed });
  await using door = await startDoor(`https://localhost:${hub.port}`, "ABC234");
  const refused = await get(door.url);
  expect([refused.status, await refused.text()]).toEqual([
    ...[502, expect.stringContaining("a certificate that is not trusted here")],
  ]);
  trust(signed);
  expect((await get(door.url)).status).toBe(404);
});

describe("a hub that is away", () => {
  test("is a 503 that may be sent again, and the door is back with it", async () => {
    const hub = await startTestHub({ tls: pair });
    const { port } = hub;
    await using door = await startDoor(`https://127.0.0.1:${port}`, "ABC234", { pin });
    expect((await get(door.url)).status).toBe(404);
    await hub.hub.close();
    const away = await get(door.url);
    expect([away.status, away.headers.get("retry-after")]).toEqual([503, "2"]);
    expect(await away.json()).toMatchObject({ error: { code: "hub_unreachable" } });
    await using _back = await startTestHub({ tls: pair, port });
    expect((await get(door.url)).status).toBe(404);
  });

  test.each([
    ["attacking", /another key than the pin of its invite: expected sha256-.*nothing was sent/],
    ["stripping", /does not use TLS, which the pin of its invite requires/],
  ] as const)(
    "is sent nothing when another machine answers at its address: %s",
    async (mode, sentence) => {
      await using room = await startSealedRoom();
      room.middle.mode = mode;
      const response = await get(room.door.url);
      expect([response.status, response.headers.get("x-should-retry")]).toEqual([502, "false"]);
      const { error } = (await response.json()) as { error: { code: string; message: string } };
      expect(error.code).toBe("hub_not_trusted");
      expect(error.message).toMatch(sentence);
      expect(room.middle.read.join("")).not.toMatch(/canary|HTTP|rhk_|rhd_/);
      room.middle.mode = "honest";
      expect((await get(room.door.url)).status).toBe(200);
    },
  );

  test("gets nothing sent where an attacker takes over connections that were kept", async () => {
    await using room = await startSealedRoom();
    expect((await get(room.door.url)).status).toBe(200);
    room.middle.mode = "attacking";
    room.middle.cut();
    expect((await get(room.door.url)).status).toBe(502);
    expect(room.middle.read).toEqual([]);
  });
});

describe("a door behind a proxy", () => {
  /** No name leads there but through the proxy. */
  const hubAt = (scheme: string) => `${scheme}://hub.test:5050`;
  const withUser = (url: string) => url.replace("//", "//ada:p%40ss@");

  test("reaches the hub through it, which gets its user's name and sees nothing of what passes", async () => {
    await using room = await startSealedRoom();
    await using proxy = await startConnectProxy(room.middle.port);
    const hubKey = room.key;
    const way = { pin, hubKey, proxyUrl: withUser(proxy.url) };
    await using door = await startDoor(hubAt("https"), room.code, way);
    const whole = await door.openai.chat.completions.create({ model: "*", messages });
    expect(whole.choices[0]?.message.content).toBe("canary to be or not");
    expect(proxy.asked).toEqual(["hub.test:5050"]);
    expect(proxy.said).toEqual([`Basic ${Buffer.from("ada:p@ss").toString("base64")}`]);
    expect(Buffer.concat(room.middle.wire).toString("latin1")).not.toMatch(/canary|HTTP\/1|rhk_/);
    room.middle.mode = "attacking";
    room.middle.cut();
    expect((await get(door.url)).status).toBe(502);
    expect(room.middle.read).toEqual([]);
  });

  test("reaches a hub without TLS through it, too", async () => {
    await using hub = await startTestHub();
    await using proxy = await startConnectProxy(hub.port);
    const proxyUrl = proxy.url;
    await using door = await startDoor(hubAt("http"), await hub.createRoom(), { proxyUrl });
    expect((await get(door.url)).status).toBe(200);
    expect(proxy.asked).toEqual(["hub.test:5050"]);
  });

  test("says so when the proxy refuses, and when it is not there", async () => {
    const proxy = await startConnectProxy(undefined);
    await using door = await startDoor(hubAt("https"), "ABC234", { pin, proxyUrl: proxy.url });
    const said = async () => [(await get(door.url)).status, door.requests.at(-1)?.problem];
    const host = new URL(proxy.url).host;
    expect(await said()).toEqual([
      ...[503, expect.stringContaining(`the proxy ${host} refuses the way to hub.test:5050: 403`)],
    ]);
    await proxy[Symbol.asyncDispose]();
    expect(await said()).toEqual([503, expect.stringContaining("ECONNREFUSED")]);
  });
});

describe("what is not for a program of this user", () => {
  test("another key is refused in the shape of each API, for good", async () => {
    await using room = await startSealedRoom();
    await expect(openaiAt(room.door.url).models.list()).rejects.toMatchObject({
      ...{ status: 401, code: "invalid_api_key" },
      message: expect.stringContaining(`eval "$(roomhub env ${room.code})"`),
    });
    for (const [name, value] of [
      ["accept", "*/*"],
      ["x-api-key", `${doorKey}x`],
      ["api-key", room.key],
    ] as const) {
      const response = await get(room.door.url, { [name]: value });
      expect([response.status, response.headers.get("x-should-retry")]).toEqual([401, "false"]);
    }
    const message = await fetch(`${room.door.url}/messages`, { method: "POST", body: "{}" });
    expect(await message.json()).toMatchObject({
      ...{ type: "error", error: { type: "authentication_error", code: "invalid_api_key" } },
    });
    expect(room.middle.wire).toEqual([]);
  });

  test.each(["x-api-key", "api-key"])("its key is taken as %s too", async (name) => {
    await using room = await startSealedRoom();
    expect((await get(room.door.url, { [name]: doorKey })).status).toBe(200);
  });

  test.each(["evil.example", "127.0.0.1.evil.example", "192.168.1.5:5055", "0.0.0.0:5055", ""])(
    "a request for the host %j is refused: a page may have resolved that name to this machine",
    async (host) => {
      await using room = await startSealedRoom();
      const { status, body } = await rawGet(room.door.port, { host });
      expect([status, body]).toEqual([403, expect.stringContaining("host_not_allowed")]);
    },
  );

  test.each(["localhost:5055", "127.0.0.1", "[::1]:8000", "LOCALHOST"])(
    "the host %s is this machine",
    async (host) => {
      await using room = await startSealedRoom();
      expect((await rawGet(room.door.port, { host })).status).toBe(200);
    },
  );

  test("a page is refused, with its preflight, unless its origin is allowed", async () => {
    const origin = "http://localhost:3000";
    await using room = await startSealedRoom({ origins: [origin] });
    const preflight = (from: string) =>
      fetch(`${room.door.url}/chat/completions`, {
        method: "OPTIONS",
        headers: {
          ...{ origin: from, "access-control-request-method": "POST" },
          "access-control-request-headers": "authorization,content-type",
        },
      });
    for (const from of ["http://localhost:3001", "http://evil.example", "null"]) {
      expect((await preflight(from)).status).toBe(403);
      const refused = await get(room.door.url, { origin: from, "x-api-key": doorKey });
      expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([
        ...[403, null],
      ]);
    }
    const allowed = await preflight(origin);
    expect([allowed.status, allowed.headers.get("access-control-allow-origin")]).toEqual([
      ...[204, origin],
    ]);
    expect(allowed.headers.get("access-control-allow-headers")).toBe("authorization,content-type");
    const read = await get(room.door.url, { origin, "x-api-key": doorKey });
    expect([read.status, read.headers.get("access-control-allow-origin")]).toEqual([200, "*"]);
    const keyless = await get(room.door.url, { origin, "x-api-key": "" });
    expect([keyless.status, keyless.headers.get("access-control-allow-origin")]).toEqual([
      ...[401, origin],
    ]);
  });

  test("a WebSocket is refused for the same reasons", async () => {
    await using room = await startSealedRoom();
    const upgrade = { connection: "Upgrade", upgrade: "websocket" };
    for (const [headers, status] of [
      [{ authorization: "" }, 401],
      [{ origin: "http://evil.example" }, 403],
      [{ host: "evil.example" }, 403],
    ] as const) {
      const handshake = { ...upgrade, ...headers };
      expect((await rawGet(room.door.port, handshake, "/v1/responses")).status).toBe(status);
    }
  });

  test("what is not below /v1 is not the room's API", async () => {
    await using room = await startSealedRoom();
    for (const path of ["/", "/health", "/rooms/ABC234/v1/models", "/v12"]) {
      const { status, body } = await rawGet(room.door.port, {}, path);
      expect([status, body]).toEqual([404, expect.stringContaining("/v1")]);
    }
  });
});

function get(
  url: string,
  headers: Record<string, string> = { authorization: `Bearer ${doorKey}` },
) {
  return fetch(`${url}/models`, { headers });
}

/** With headers that no HTTP client would send. */
function rawGet(port: number, more: Record<string, string>, path = "/v1/models") {
  const headers = { host: `127.0.0.1:${port}`, authorization: `Bearer ${doorKey}`, ...more };
  const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return sendBytes(port, `GET ${path} HTTP/1.1\r\n${fields.join("")}\r\n`);
}
