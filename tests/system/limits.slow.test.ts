import { readFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { LIMIT_NAMES, type LimitName, type Limits } from "@roomhub/protocol";
import { describe, expect, test } from "vitest";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { joinDirect, joinTunnel } from "../support/hub/joining.ts";
import {
  type Behave,
  chat,
  copies,
  getHealth,
  headTooLarge,
  slowBody,
  lines,
  dial,
  exactlyAfter,
  frame,
  nowhere,
  openLab,
  outcome,
  padded,
  postHead,
  watched,
  withPad,
  limitsOfRooms,
} from "../support/hub/limits-lab.ts";
import { tableRows } from "../support/documents/markdown-table.ts";
import { postUnread } from "../support/clients/raw-http.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";
import { createGate, until, within } from "../support/waiting.ts";

/** At n it passes; one more is refused, the hub keeps running, and nothing changed. Or where else that is tested. */
type Check = ((name: LimitName) => Promise<void>) | { testedIn: string };
type Fields = (n: number) => object;

const stream = { ...chat, stream: true };
const hang: Behave = () => ({ kind: "hang" });
const stall: Behave = () => ({ kind: "hang-mid-stream" });

function nested(depth: number): object {
  return depth === 1 ? {} : { in: nested(depth - 1) };
}

/** Sends its parts one by one. */
function drip(socket: Socket, parts: string[], everyMs: number): void {
  const timer = setInterval(() => {
    const part = parts.shift();
    if (part === undefined || socket.destroyed) clearInterval(timer);
    else socket.write(part);
  }, everyMs);
}

/** A request still runs at the limit; one more, and it ends as described. */
function deadline(code: string, body: object, behave: Behave): Check {
  return async (name) => {
    await using lab = await openLab({ [name]: 3_000 }, behave);
    const events = await lab.hub.watch(lab.code);
    const answering = lab.ask(body).then((answer) => answer.text());
    const chunks = body === stream ? 2 : 0;
    await lab.provider.waitFor(({ requests }) => requests.at(-1)?.chunksSent === chunks);
    await lab.running(1);
    await lab.settle();
    await exactlyAfter(lab, 3_000, watched(answering));
    expect(await answering).toContain(`"code":"${code}"`);
    expect((await events.next("llm.error")).data["code"]).toBe(code);
    await lab.running(0);
  };
}

/** A request waits behind one that never ends. */
async function outcomeAfter(limit: "queueWaitMs" | "batchWaitMs", body: object): Promise<string> {
  await using lab = await openLab({ inFlightPerParticipant: 1, [limit]: 3_000 }, hang);
  void lab.ask();
  await lab.running(1);
  const waiting = lab.ask(body);
  await until("one to wait", lab.load, ({ queued, batch }) => queued + (batch?.queued ?? 0) === 1);
  await exactlyAfter(lab, 3_000, watched(waiting));
  const load = await lab.load();
  expect(load).toMatchObject({ active: 1, queued: 0 });
  expect(load).not.toHaveProperty("batch");
  return await outcome(waiting);
}

/** Of a join or a new room: a field of so many fits; with one more it is refused, and nothing was created. */
function field(of: "join" | "create", n: number, code: string, fields: Fields): Check {
  return async (name) => {
    await using lab = await openLab({ [name]: n });
    const send = (more: object) =>
      outcome(of === "join" ? lab.join("bob", more) : lab.create({ name: "r", ...more }));
    expect(await send(fields(n + 1))).toBe(`400 ${code}`);
    expect([await lab.ids(), await lab.rooms()]).toEqual(["ada", [lab.code]]);
    expect(await send(fields(n))).toBe("201");
  };
}

function requestHead(n: number, code: string, head: (n: number) => string): Check {
  return async (name) => {
    await using lab = await openLab({ [name]: n });
    expect([await lab.raw(head(n)), await lab.raw(head(n + 1))]).toEqual(["200", code]);
  };
}

/** A full hub drops a room only once it has been unused for longer than this. */
function eviction(limits: Partial<Limits>, ageMs: number, overMs: number): Check {
  return async () => {
    await using lab = await openLab({ rooms: 3, ...limits });
    const before = [lab.code, await lab.hub.createRoom(), await lab.hub.createRoom()];
    await lab.time.advance(1);
    await lab.hub.watch(before[1]);
    await lab.time.leap(ageMs - 1);
    expect(await outcome(lab.create())).toBe("503 room_limit_reached, stop");
    expect(await lab.rooms()).toEqual(before);
    await lab.time.leap(overMs);
    expect(await outcome(lab.create())).toBe("201");
    // Ada's is in use, and the next one was, a moment later than the last.
    expect(await lab.rooms()).toEqual([lab.code, before[1], expect.any(String)]);
  };
}

const roomCreation: Check = async () => {
  await using lab = await openLab({ roomCreationBurst: 3, roomCreationPerMinute: 30 });
  for (let count = 2; count <= 3; count++) expect(await outcome(lab.create())).toBe("201");
  expect(await outcome(lab.create())).toBe("429 rate_limit_exceeded, later 2");
  await lab.time.advance(1_999);
  expect(await outcome(lab.create())).toBe("429 rate_limit_exceeded, later 1");
  expect(await lab.rooms()).toHaveLength(3);
  await lab.time.advance(1);
  expect(await outcome(lab.create())).toBe("201");
  expect(await outcome(lab.create())).toBe("429 rate_limit_exceeded, later 2");
};

const passwordAttempts: Check = async () => {
  await using lab = await openLab({ passwordAttemptsBurst: 2, passwordAttemptIntervalMs: 3_000 });
  const room = await lab.hub.createRoom("swordfish");
  const attempt = (password: string) => outcome(lab.join("bob", { password }, room));
  expect(await attempt("tuna")).toBe("401 invalid_password");
  expect(await attempt("cod")).toBe("401 invalid_password");
  expect(await attempt("swordfish")).toBe("429 too_many_attempts, later 3");
  await lab.time.advance(2_999);
  expect(await attempt("swordfish")).toBe("429 too_many_attempts, later 1");
  expect(await lab.ids(room)).toBe("");
  await lab.time.advance(1);
  expect(await attempt("swordfish")).toBe("201");
};

const passwordAttemptsPerRoom: Check = async () => {
  await using lab = await openLab({ passwordAttemptsPerRoom: 2 });
  const room = await lab.hub.createRoom("swordfish");
  const attempt = (password: string) => outcome(lab.join("bob", { password }, room));
  expect(await attempt("tuna")).toBe("401 invalid_password");
  await lab.time.advance(10_000);
  expect(await attempt("cod")).toBe("401 invalid_password");
  expect(await attempt("swordfish")).toBe("429 too_many_attempts, later 50");
  await lab.time.advance(49_999);
  expect(await attempt("swordfish")).toBe("429 too_many_attempts, later 1");
  await lab.time.advance(1);
  expect(await attempt("swordfish")).toBe("201");
};

/** Two run at ada's provider, the third waits and starts when one has ended. */
async function oneWaits(
  limits: Partial<Limits>,
  config: { maxConcurrency?: number },
): Promise<void> {
  const gate = createGate();
  await using lab = await openLab(limits, () => ({ kind: "normal", gate: gate.opened }));
  await lab.hub.client.updateParticipant(lab.code, "ada", { config });
  const asking = [lab.ask(), lab.ask()];
  await lab.running(2);
  expect(await lab.load()).toMatchObject({ active: 2, queued: 0, limit: 2 });
  asking.push(lab.ask());
  await until("one to wait", lab.load, ({ active, queued }) => active === 2 && queued === 1);
  gate.open();
  expect(await Promise.all(asking.map(outcome))).toEqual(["200", "200", "200"]);
}

/** As many tunnels open as allowed, and the next once the first opening counts no more. */
const tunnelOpenings: Check = async () => {
  await using lab = await openLab({ tunnelOpenings: 2, tunnelOpeningsMs: 3_000 });
  const { tunnel, participantToken } = await lab.hub.client.join(lab.code, {
    ...{ id: "ada", nickname: "Ada", model: "fake-model", endpoint: nowhere, transport: "tunnel" },
  });
  const open = () =>
    lab.raw(
      lines(
        `GET ${new URL(tunnel.url).pathname} HTTP/1.1`,
        ...["host: hub", "connection: Upgrade", "upgrade: websocket"],
        ...["sec-websocket-version: 13", "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ=="],
        ...[
          "sec-websocket-protocol: roomhub.tunnel.v1",
          `authorization: Bearer ${participantToken}`,
        ],
      ),
    );
  expect([await open(), await open()]).toEqual(["101", "101"]);
  expect(await open()).toBe("429 tunnel_flapping, later 3");
  await lab.time.advance(2_999);
  expect(await open()).toBe("429 tunnel_flapping, later 3");
  await lab.time.advance(1);
  expect([await open(), await open()]).toEqual(["101", "101"]);
  expect(await open()).toBe("429 tunnel_flapping, later 3");
};

function repository(file: string): string {
  return readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");
}

const sockets = "packages/hub/src/http/responses-socket";
const checks: Record<LimitName, Check> = {
  async inferenceBodyBytes() {
    await using lab = await openLab({ inferenceBodyBytes: 500 });
    expect(await outcome(lab.ask(padded(501)))).toBe("413 request_too_large");
    expect(lab.provider.requests.filter(({ method }) => method === "POST")).toEqual([]);
    expect(await outcome(lab.ask(padded(500)))).toBe("200");
  },
  async managementBodyBytes() {
    await using lab = await openLab({ managementBodyBytes: 500 });
    expect(await outcome(lab.create(padded(501, { name: "r" })))).toBe("413 request_too_large");
    expect(await lab.rooms()).toEqual([lab.code]);
    expect(await outcome(lab.create(padded(500, { name: "r" })))).toBe("201");
  },
  async heldBodyBytes() {
    await using lab = await openLab({ heldBodyBytes: 1_000 }, hang);
    const leaving = new AbortController();
    lab.ask(padded(600), leaving.signal).catch(() => undefined);
    await lab.running(1);
    expect(await outcome(lab.ask(padded(401)))).toBe("503 hub_overloaded, later 2");
    void lab.ask(padded(400));
    await lab.running(2);
    leaving.abort();
    await lab.running(1);
    void lab.ask(padded(600));
    await lab.running(2);
  },
  async jsonDepth() {
    await using lab = await openLab({ jsonDepth: 6 });
    expect(await outcome(lab.ask({ ...chat, more: nested(5) }))).toBe("200");
    expect(await outcome(lab.ask({ ...chat, more: nested(6) }))).toBe("400 field_too_large");
  },
  // URL, names and values count.
  headerBytes: requestHead(1_000, headTooLarge, (n) => getHealth(`x: ${"y".repeat(n - 15)}`)),
  headerPairs: requestHead(12, headTooLarge, (n) => getHealth(...copies(n - 1, "x: y"))),
  urlBytes: requestHead(300, "414 uri_too_long", (n) =>
    lines(`GET ${"/health?".padEnd(n, "q")} HTTP/1.1`, "host: hub"),
  ),
  async headersReadMs() {
    await using lab = await openLab({ headersReadMs: 600 });
    const begun = getHealth().slice(0, -2);
    expect(await lab.raw(begun, (socket) => drip(socket, ["\r\n"], 20))).toBe("200");
    expect(await lab.raw(begun)).toBe("408 request_read_timeout");
  },
  async bodyIdleMs() {
    await using lab = await openLab({ bodyIdleMs: 1_000 });
    const steady = [...copies(60, " "), "}"];
    expect(await lab.raw(slowBody(61), (socket) => drip(socket, steady, 20))).toBe("201");
    expect(await lab.raw(slowBody(61))).toBe("408 request_read_timeout");
    expect(await lab.rooms()).toHaveLength(2);
  },
  async bodyReadMs() {
    await using lab = await openLab({ bodyReadMs: 600 });
    const send = (...parts: string[]) =>
      lab.raw(slowBody(parts.length), (socket) => drip(socket, parts, 20));
    expect(await send("}")).toBe("201");
    expect(await send(...copies(50, " "))).toBe("408 request_read_timeout");
    expect(await lab.rooms()).toHaveLength(2);
  },
  async keepAliveMs() {
    await using lab = await openLab({ keepAliveMs: 50 });
    const socket = connect({ host: "127.0.0.1", port: lab.hub.port });
    const answers: string[] = [];
    socket.on("data", (part) => {
      answers.push(part.toString());
      // Once more on the same connection, at once.
      if (answers.length === 1) socket.write(getHealth());
    });
    socket.write(getHealth());
    await within(new Promise((resolve) => socket.on("close", resolve)), "an idle one to be closed");
    expect(answers.join("").match(/"status":"ok"/g)).toHaveLength(2);
  },
  rooms: eviction({}, 24 * 3_600_000, 1),
  // With 2 ms both are old enough, and the one unused for longer goes.
  roomEvictionAgeMs: eviction({ roomEvictionAgeMs: 1_000 }, 1_000, 2),
  roomCreationBurst: roomCreation,
  roomCreationPerMinute: roomCreation,
  passwordAttemptsBurst: passwordAttempts,
  passwordAttemptIntervalMs: passwordAttempts,
  passwordAttemptsPerRoom,
  async participantsPerRoom() {
    await using lab = await openLab({ participantsPerRoom: 2, offlineAfterMs: 1_000 });
    const events = await lab.hub.watch(lab.code);
    await lab.time.advance(500);
    expect(await outcome(lab.join("bob"))).toBe("201");
    expect(await outcome(lab.join("eve"))).toBe("503 participant_limit_reached, stop");
    expect(await lab.ids()).toBe("ada,bob");
    await lab.time.advance(2_000);
    // Both are offline now, ada for longer.
    expect(await outcome(lab.join("eve"))).toBe("201");
    expect(await lab.ids()).toBe("bob,eve");
    const { data } = await events.next("participant.left");
    expect(data).toMatchObject({ participantId: "ada", reason: "evicted" });
  },
  async participantsPerHub() {
    await using lab = await openLab({ participantsPerHub: 2 });
    const other = await lab.hub.createRoom();
    expect(await outcome(lab.join("bob", {}, other))).toBe("201");
    expect(await outcome(lab.join("eve"))).toBe("503 participant_limit_reached, stop");
    expect([await lab.ids(), await lab.ids(other)]).toEqual(["ada", "bob"]);
  },
  ...limitsOfRooms,
  async probedPerRoom() {
    await using lab = await openLab({ probedPerRoom: 1 });
    const probed = { liveness: "probe", transport: "auto" };
    expect(await outcome(lab.join("bob", probed))).toBe("201");
    expect(await outcome(lab.join("eve", probed))).toBe("503 participant_limit_reached, stop");
    expect(await lab.ids()).toBe("ada,bob");
  },
  async probedPerAddress() {
    await using lab = await openLab({ probedPerAddress: 1 });
    const other = await lab.hub.createRoom();
    const probed = { liveness: "probe", transport: "auto" };
    expect(await outcome(lab.join("bob", probed))).toBe("201");
    expect(await outcome(lab.join("eve", probed, other))).toBe(
      "503 participant_limit_reached, stop",
    );
    expect(await lab.ids(other)).toBe("");
  },
  async offlineAfterMs() {
    await using lab = await openLab({ offlineAfterMs: 3_000 });
    const events = await lab.hub.watch(lab.code);
    await lab.time.advance(3_000);
    expect(await lab.status()).toBe("online");
    await lab.time.advance(1_000);
    expect(await lab.status()).toBe("offline");
    expect(events.of("participant.offline")).toHaveLength(1);
  },
  nicknameLength: field("join", 5, "invalid_nickname", (n) => ({ nickname: "🙂".repeat(n) })),
  modelLength: field("join", 20, "field_too_large", (n) => ({ model: "m".repeat(n) })),
  endpointLength: field("join", 60, "invalid_endpoint", (n) => ({
    endpoint: nowhere.padEnd(n, "x"),
  })),
  authHeaders: field("join", 2, "invalid_auth_header", (n) => ({
    authHeaders: Object.fromEntries(Array.from({ length: n }, (_, at) => [`x-${at}`, "y"])),
  })),
  authHeaderBytes: field("join", 40, "invalid_auth_header", (n) => ({
    authHeaders: { "x-key": "y".repeat(n - 7), a: "b" },
  })),
  participantFieldBytes: field("join", 80, "field_too_large", (n) => ({
    ...{ specs: withPad(80), config: withPad(n), capabilities: withPad(80) },
  })),
  participantFieldDepth: field("join", 3, "field_too_large", (n) => ({ config: nested(n) })),
  roomNameLength: field("create", 5, "field_too_large", (n) => ({ name: "🙂".repeat(n) })),
  passwordBytes: field("create", 6, "field_too_large", (n) => ({ password: "ä".padEnd(n - 1) })),
  async subscribersPerRoom() {
    await using lab = await openLab({ subscribersPerRoom: 2 });
    for (const code of [lab.code, undefined]) {
      const [leaving] = [await lab.hub.watch(code), await lab.hub.watch(code)];
      const path = code === undefined ? "/v1/events" : `/rooms/${code}/events`;
      expect(await outcome(lab.hub.fetch(path))).toBe("503 too_many_subscribers, stop");
      await leaving[Symbol.asyncDispose]();
      const ask = () => lab.hub.fetch(path, { signal: AbortSignal.timeout(10_000) });
      const next = await until("its place to be free", ask, ({ status }) => status === 200);
      await next.body?.cancel();
    }
  },
  async subscriberBufferBytes() {
    const [eventBytes, updates] = [300_000, 60];
    const limits = { participantFieldBytes: 2 * eventBytes, managementBodyBytes: 2 * eventBytes };
    await using lab = await openLab({ ...limits, subscriberBufferBytes: 2 * eventBytes });
    const reading = await lab.hub.watch(lab.code);
    const socket = connect({ host: "127.0.0.1", port: lab.hub.port }).pause();
    const cutOff = new Promise((resolve) => socket.on("close", resolve));
    socket.on("error", () => undefined);
    socket.write(lines(`GET /v1/rooms/${lab.code}/events HTTP/1.1`, "host: hub"));
    await lab.settle();
    // The kernel takes some megabytes before the hub has to hold anything.
    for (let count = 1; count <= updates; count++) {
      const specs = { pad: String(count).padEnd(eventBytes, "x") };
      await lab.hub.client.updateParticipant(lab.code, "ada", { specs });
      await reading.waitFor("it", () => reading.of("participant.updated").length === count);
    }
    socket.resume();
    await within(cutOff, "the one who does not read to be cut off");
    expect(socket.bytesRead).toBeLessThan(updates * eventBytes);
    expect(reading.hasEnded).toBe(false);
  },
  async eventCommentMs() {
    await using lab = await openLab({ eventCommentMs: 3_000 });
    const events = await lab.hub.watch(lab.code);
    await exactlyAfter(lab, 2_999, () => events.comments > 1);
  },
  async inFlightPerHub() {
    await using lab = await openLab({ inFlightPerHub: 2 }, hang);
    void lab.ask();
    void lab.ask();
    await lab.running(2);
    expect(await outcome(lab.ask())).toBe("503 hub_overloaded, later 2");
    expect(lab.provider.openGenerations).toBe(2);
  },
  assumedConcurrency: { testedIn: "packages/hub/src/domain/slots.test.ts" },
  inFlightPerParticipant: () => oneWaits({ inFlightPerParticipant: 2 }, {}),
  async responsesPerRoom() {
    await using lab = await openLab({ responsesPerRoom: 2 });
    const respond = async (): Promise<string> => {
      const path = `/rooms/${lab.code}/v1/responses`;
      const answer = await lab.hub.fetch(path, { json: { model: "*", input: "x" } });
      return ((await answer.json()) as { id: string }).id;
    };
    const goOn = (id: string) =>
      outcome(
        lab.hub.fetch(`/rooms/${lab.code}/v1/responses/input_tokens`, {
          json: { model: "*", previous_response_id: id },
        }),
      );
    const [first, second, third] = [await respond(), await respond(), await respond()];
    expect(await goOn(first)).toBe("400 previous_response_not_found");
    // Found, and this provider has no such path, as the hub knows from then on.
    for (const id of [second, third]) {
      expect(await goOn(id)).toMatch(/^(?:404|400 unsupported_protocol)/);
    }
  },
  async queuePerRoom() {
    await using lab = await openLab({ inFlightPerParticipant: 1, queuePerRoom: 1 }, hang);
    void lab.ask();
    await lab.running(1);
    void lab.ask();
    await until("one to wait", lab.load, ({ queued }) => queued === 1);
    expect(await outcome(lab.ask())).toBe("429 queue_full, later 5");
    expect(await lab.load()).toMatchObject({ active: 1, queued: 1, limit: 1 });
  },
  async queueWaitMs() {
    expect(await outcomeAfter("queueWaitMs", chat)).toBe("503 queue_timeout, later 5");
  },
  async batchWaitMs() {
    const flex = { ...chat, service_tier: "flex" };
    expect(await outcomeAfter("batchWaitMs", flex)).toBe("429 batch_timeout, later 60");
  },
  firstByteMs: deadline("provider_timeout", chat, hang),
  streamIdleMs: deadline("stream_idle_timeout", stream, stall),
  requestMs: deadline("request_timeout", chat, hang),
  async responseBodyBytes() {
    let bytes = 5_000;
    const behave: Behave = () => ({ kind: "big-json", bytes });
    await using lab = await openLab({ responseBodyBytes: bytes }, behave);
    expect(await outcome(lab.ask())).toBe("200");
    bytes++;
    expect(await outcome(lab.ask())).toBe("502 response_too_large, stop");
  },
  async eventHoldBytes() {
    const head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let bytes = 1_000;
    // An event that never ends: what was held back of it is dropped, the rest is out already.
    const behave: Behave = () => ({ kind: "raw", bytes: head + "data: ".padEnd(bytes, "x") });
    await using lab = await openLab({ eventHoldBytes: bytes }, behave);
    expect(await (await lab.ask(stream)).text()).not.toContain("xxx");
    bytes++;
    expect(await (await lab.ask(stream)).text()).toContain("xxx");
  },
  async clientStallMs() {
    const pieces = copies(600, "x".repeat(65_536));
    await using lab = await openLab({ clientStallMs: 3_000 }, () => ({ kind: "normal", pieces }));
    const events = await lab.hub.watch(lab.code);
    const answer = await postUnread(lab.hub.url + lab.chatPath, stream);
    answer.on("error", () => undefined);
    const sent = () => lab.provider.requests.at(-1)?.bytesSent ?? 0;
    const counts: number[] = [];
    const isStuck = (bytes: number) =>
      bytes > 0 && counts.push(bytes) > 30 && counts.at(-30) === bytes;
    await until("the client to stall", sent, isStuck);
    await exactlyAfter(lab, 3_000, () => events.of("llm.error").length > 0);
    expect(events.of("llm.error")[0]?.data["code"]).toBe("client_stalled");
    await lab.running(0);
    answer.destroy();
  },
  async drainMs() {
    const gate = createGate();
    const behave: Behave = () => ({ kind: "normal", gate: gate.opened });
    await using provider = await startFakeProvider({ behave });
    for (const cut of [1, 0]) {
      await using hub = await startTestHub({ limits: { drainMs: cut === 1 ? 50 : 10_000 } });
      const code = await hub.createRoom();
      await joinDirect(hub, code, { endpoint: provider.url });
      const asking = hub.fetch(`/rooms/${code}/v1/chat/completions`, { json: chat });
      await provider.waitFor(({ openGenerations }) => openGenerations === 1);
      const closing = hub.hub.close();
      if (cut === 0) setTimeout(() => gate.open(), 200);
      expect(await closing).toEqual({ cut });
      expect(await outcome(asking)).toBe(cut === 0 ? "200" : "503 hub_shutting_down, later 2");
    }
  },
  async tunnelMessageBytes() {
    await using lab = await openLab({ tunnelMessageBytes: 131_072 });
    const { socket, closed } = await dial(lab);
    const status = (bytes: number) => frame(2, padded(bytes - 9, { ready: true }));
    const message = (bytes: number) =>
      Buffer.concat([status(60_000), status(60_000), status(bytes - 120_000)]);
    socket.send(message(131_072));
    await lab.settle();
    expect(await lab.isConnected()).toBe(true);
    socket.send(message(131_073));
    expect(await within(closed, "the tunnel's end")).toBe(1009);
    await until("the path to close", lab.isConnected, (isConnected) => !isConnected);
  },
  async tunnelMaxStreams() {
    await using lab = await openLab({ tunnelMaxStreams: 2 }, hang);
    await lab.hub.client.leave(lab.code, "ada");
    await using _ada = await joinTunnel(lab.hub, lab.code, { endpoint: lab.provider.url });
    void lab.ask();
    void lab.ask();
    await lab.running(2);
    expect(await outcome(lab.ask())).toBe("502 provider_unreachable");
    expect(lab.provider.openGenerations).toBe(2);
  },
  // The agent knows the limit; what happens to one that sends more is in packages/tunnel/src/session-abuse.test.ts.
  async tunnelResponseWindowBytes() {
    await using lab = await openLab({ tunnelResponseWindowBytes: 70_000 });
    const { hello, socket } = await dial(lab);
    expect(hello).toMatchObject({ windowBytes: 70_000 });
    socket.terminate();
  },
  tunnelOpenings,
  tunnelOpeningsMs: tunnelOpenings,
  async tunnelPingMs() {
    await using lab = await openLab({ tunnelPingMs: 2_000 });
    const silent = await dial(lab, false);
    // The first ping is sent within a second; each one without a pong is a miss, and two of them end the tunnel.
    await lab.time.advance(3_500);
    expect(await lab.isConnected()).toBe(true);
    await lab.time.advance(3_500);
    expect(await within(silent.closed, "the dead tunnel's end")).toBe(1006);
    expect(await lab.isConnected()).toBe(false);
  },
  async probeMs() {
    await using lab = await openLab({ probeMs: 500 });
    const mute = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => mute.on("listening", resolve));
    const endpoint = `http://127.0.0.1:${(mute.address() as AddressInfo).port}/v1`;
    const bob = joinDirect(lab.hub, lab.code, { id: "bob", endpoint });
    const { participant } = (await within(bob, "the join", 5_000)).answer;
    expect(participant.connection).toMatchObject({ connected: false, path: "direct" });
    expect(await lab.isConnected()).toBe(true);
    mute.close();
  },
  responseSockets: { testedIn: "tests/system/responses-websocket.slow.test.ts" },
  responseSocketQueue: { testedIn: "tests/system/responses-websocket.slow.test.ts" },
  responseSocketMemoryBytes: { testedIn: `${sockets}/turn-request.test.ts` },
  responseSocketMs: { testedIn: `${sockets}/response-socket.test.ts` },
  responseSocketPingMs: { testedIn: `${sockets}/response-socket.test.ts` },
  roomExpiryMs: { testedIn: "packages/hub/src/operations/rooms.test.ts" },
  participantExpiryMs: { testedIn: "packages/hub/src/operations/participants.test.ts" },
  keepaliveCommentMs: { testedIn: "packages/hub/src/inference/response/delivery.test.ts" },
  earlyCommitMs: { testedIn: "packages/hub/src/inference/response/delivery.test.ts" },
  informationalMs: { testedIn: "packages/hub/src/inference/response/delivery.test.ts" },
  mediaResponseBytes: { testedIn: "tests/system/surfaces.test.ts" },
  uploadBytes: { testedIn: "tests/system/uploads.test.ts" },
  multipartHoldBytes: { testedIn: "tests/system/uploads.test.ts" },
  loadingMs: { testedIn: "packages/provider/src/readiness/server-readiness.test.ts" },
  connectMs: { testedIn: "packages/provider/src/call/provider-client.test.ts" },
  resumeLogBytes: { testedIn: "packages/tunnel/src/back-pressure.test.ts" },
  resumeMs: { testedIn: "tests/system/resume.slow.test.ts" },
  sweepIntervalMs: { testedIn: "packages/hub/src/domain/liveness.test.ts" },
};

describe.concurrent("at n it passes, one more is refused, and the hub keeps running", () => {
  for (const name of LIMIT_NAMES) {
    const check = checks[name];
    if (typeof check === "function") test(name, () => check(name));
    else
      test(`${name}, in ${check.testedIn}`, () => expect(repository(check.testedIn)).not.toBe(""));
  }

  test("maxConcurrency, which a participant declares itself", () =>
    oneWaits({ inFlightPerParticipant: 9 }, { maxConcurrency: 2 }));

  test("requests whose bodies arrive together cannot slip past inFlightPerHub", async () => {
    await using lab = await openLab({ inFlightPerHub: 1 });
    const body = JSON.stringify(chat);
    const sockets: Socket[] = [];
    const begin = () =>
      lab.raw(postHead(lab.chatPath, body.length), (socket) => sockets.push(socket));
    const asking = [begin(), begin(), begin()];
    await until("all three", () => sockets.length === 3, Boolean);
    await lab.settle();
    for (const socket of sockets) socket.write(body);
    const refused = "503 hub_overloaded, later 2";
    expect((await Promise.all(asking)).sort()).toEqual(["200", refused, refused]);
  });
});

test("limits.md describes for every limit what happens at it", () => {
  const rows = tableRows(repository("docs/reference/limits.md"), ["Limit", "Beyond it"]);
  expect(new Set(rows.map(([name]) => name))).toEqual(new Set(LIMIT_NAMES));
  expect(rows).toHaveLength(LIMIT_NAMES.length);
  expect(rows.filter((row) => row.includes(""))).toEqual([]);
});
