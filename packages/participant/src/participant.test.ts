import { expect, test, vi } from "vitest";
import { send, startFakeHub } from "./fake-hub.fixture.ts";
import { startFakeModelServer } from "./fake-model-server.fixture.ts";
import {
  createTestParticipant,
  startWith,
  type TestParticipant,
} from "./test-participant.fixture.ts";

const endpoint = "http://127.0.0.1:9";

function verdictsOf({ notices }: TestParticipant): string[] {
  return notices.flatMap((notice) =>
    notice.kind === "provider-readiness" ? [notice.readiness] : [],
  );
}

test("joins with transport tunnel, does not send local headers, dials with the token, and leaves on close", async () => {
  await using hub = await startFakeHub();
  await using model = await startFakeModelServer((response) => response.end("{}"));
  await using ana = createTestParticipant(hub, model.endpoint, {
    password: "swordfish",
    machineSecret: "m".repeat(43),
    headers: { authorization: "Bearer stays-here" },
    authHeaders: { "X-Api-Key": "handed-over" },
    specs: { gpu: "M3" },
    config: { maxConcurrency: 2 },
    capabilities: { chatCompletions: "supported" },
  });
  expect(ana.participant.state).toBe("idle");
  await startWith(hub, ana);
  expect(ana.participant.state).toBe("connected");
  const [join] = hub.calls;
  expect(join).toMatchObject({ method: "POST", url: "/rooms/ABC234/join", token: undefined });
  expect(JSON.parse(join!.body)).toEqual({
    id: "ana",
    nickname: "Ana",
    model: "llama3",
    endpoint: model.endpoint,
    password: "swordfish",
    machineSecret: "m".repeat(43),
    agentId: expect.stringMatching(/^[\da-f-]{36}$/),
    run: { bootId: expect.stringMatching(/^[\da-f-]{36}$/), joins: 1 },
    specs: { gpu: "M3" },
    config: { maxConcurrency: 2 },
    capabilities: { chatCompletions: "supported" },
    authHeaders: { "x-api-key": "handed-over" },
    transport: "tunnel",
  });
  expect(hub.upgrades[0]?.headers).toMatchObject({
    authorization: "Bearer rhp_1",
    "sec-websocket-protocol": "roomhub.tunnel.v1",
  });
  expect(hub.upgrades[0]?.headers["sec-websocket-extensions"]).toBeUndefined();
  expect(hub.sessions[0]?.maxStreams).toBe(4);
  await ana.participant.close();
  await vi.waitFor(() => expect(hub.goAways).toEqual(["leaving"]));
  expect(hub.calls.at(-1)).toMatchObject({
    method: "DELETE",
    url: "/v1/rooms/ABC234/participants/ana",
    token: "rhp_1",
  });
  expect(await ana.participant.stopped).toEqual({
    code: "closed",
    reason: "closed by this program",
  });
  expect(ana.kinds()).toEqual(["joined", "connected", "stopped"]);
  expect(JSON.stringify(ana.notices)).not.toMatch(/stays-here|handed-over|swordfish|mmm|rhp_/);
  expect(ana.participant.state).toBe("stopped");
});

test("tries other ids while its own was not chosen and is taken, and keeps the one that is free", async () => {
  await using hub = await startFakeHub();
  hub.failWith = ({ url, body }) =>
    url.endsWith("/join") && body.includes('"id":"ana') && !body.includes('"id":"ana-3"')
      ? { status: 409, code: "participant_id_taken" }
      : undefined;
  let number = 1;
  await using ana = createTestParticipant(hub, endpoint, { nextId: () => `ana-${++number}` });
  await startWith(hub, ana);
  const joins = hub.calls.map(({ body, onlyIfNew }) => [JSON.parse(body).id, onlyIfNew]);
  expect(joins).toEqual([
    ["ana", true],
    ["ana-2", true],
    ["ana-3", true],
  ]);
  expect(ana.notices).toContainEqual(expect.objectContaining({ kind: "joined", id: "ana-3" }));
  await ana.participant.close();
  expect(hub.calls.at(-1)).toMatchObject({
    method: "DELETE",
    url: "/v1/rooms/ABC234/participants/ana-3",
  });
});

test("takes over its id where it was chosen", async () => {
  await using hub = await startFakeHub();
  await using ana = createTestParticipant(hub, endpoint);
  await startWith(hub, ana);
  expect(hub.calls[0]).not.toHaveProperty("onlyIfNew");
});

for (const [status, code] of [
  [401, "invalid_password"],
  [404, "room_not_found"],
  [409, "participant_id_taken"],
  [403, "participant_token_required"],
  [400, "invalid_id"],
] as const) {
  test(`a first join refused with ${status} ${code} stops it with one clear line`, async () => {
    await using hub = await startFakeHub();
    hub.failWith = () => ({ status, code });
    await using ana = createTestParticipant(hub, endpoint);
    await expect(ana.participant.start()).rejects.toMatchObject({
      name: "ParticipantError",
      code,
      message: `no: ${code}`,
    });
    expect(await ana.participant.stopped).toMatchObject({ code });
    expect(hub.calls).toHaveLength(1);
    expect(ana.kinds().filter((kind) => kind === "stopped")).toHaveLength(1);
  });
}

test("a participant that serves its owner first hands over each client key, whatever its callback throws", async () => {
  await using hub = await startFakeHub();
  await using model = await startFakeModelServer((response) => response.end("{}"));
  const keys: string[] = [];
  await using ana = createTestParticipant(hub, model.endpoint, {
    ownFirst: true,
    onClientKey(clientKey) {
      keys.push(clientKey);
      throw new Error("a bug of the program");
    },
  });
  await startWith(hub, ana);
  expect(keys).toEqual(["rhc_1"]);
  expect(ana.participant.state).toBe("connected");
  expect(JSON.stringify(ana.notices)).not.toContain("rhc_");
});

test("a participant that stands in says so when it joins", async () => {
  await using hub = await startFakeHub();
  await using ana = createTestParticipant(hub, endpoint, { standIn: true });
  await startWith(hub, ana);
  expect(JSON.parse(hub.calls[0]!.body)).toMatchObject({ id: "ana", standIn: true });
});

test("an unreachable hub is retried, with one notice", async () => {
  const before = await startFakeHub();
  await before.close();
  await using ana = createTestParticipant(before, endpoint);
  const started = ana.participant.start();
  await vi.waitFor(() => expect(ana.kinds()).toContain("disconnected"));
  await using hub = await startFakeHub(before.port);
  await started;
  await vi.waitFor(() => expect(hub.sessions).toHaveLength(1));
  expect(ana.kinds().filter((kind) => kind === "disconnected")).toHaveLength(1);
});

test("an id taken by its own join whose response was lost is retried until it is free", async () => {
  await using hub = await startFakeHub();
  let joins = 0;
  hub.losesResponseTo = () => ++joins === 1;
  hub.failWith = () => (joins < 4 ? { status: 409, code: "participant_id_taken" } : undefined);
  await using ana = createTestParticipant(hub, endpoint);
  await startWith(hub, ana);
  expect(hub.calls).toHaveLength(4);
});

test("an id that another participant has stops it", async () => {
  const before = await startFakeHub();
  await before.close();
  await using ana = createTestParticipant(before, endpoint);
  const started = ana.participant.start();
  await vi.waitFor(() => expect(ana.kinds()).toContain("disconnected"));
  await using hub = await startFakeHub(before.port);
  hub.failWith = () => ({ status: 409, code: "participant_id_taken" });
  await expect(started).rejects.toMatchObject({ code: "participant_id_taken" });
});

test("a busy hub and a failing hub are retried", async () => {
  await using hub = await startFakeHub();
  let refusals = 0;
  hub.failWith = ({ url }) => {
    if (!url.endsWith("/join") || refusals === 3) return undefined;
    refusals += 1;
    return { status: [429, 503, 500][refusals - 1]!, code: "later" };
  };
  await using ana = createTestParticipant(hub, endpoint);
  await startWith(hub, ana);
  expect(refusals).toBe(3);
});

test("a hub that lost its state is joined again, even if its room reappears later", async () => {
  const first = await startFakeHub();
  await using ana = createTestParticipant(first, endpoint);
  await startWith(first, ana);
  await first.close();
  await using second = await startFakeHub(first.port);
  let missing = 3;
  second.failUpgradeWith = () => (second.sessions.length === 0 && missing > 0 ? 404 : undefined);
  second.failWith = ({ url }) =>
    url.endsWith("/join") && missing-- > 0 ? { status: 404, code: "room_not_found" } : undefined;
  await second.nextSession();
  await vi.waitFor(() => expect(ana.participant.state).toBe("connected"));
  expect(second.upgrades[0]?.headers.authorization).toBe("Bearer rhp_1");
  const joins = second.calls.filter((call) => call.url.endsWith("/join"));
  expect(joins.length).toBeGreaterThanOrEqual(4);
  expect(joins.every((call) => call.token === undefined)).toBe(true);
  const reasons = ana.notices.flatMap((notice) =>
    notice.kind === "disconnected" ? [notice.reason] : [],
  );
  expect(reasons.filter((reason) => reason.includes("room_not_found"))).toHaveLength(1);
});

test("a broken tunnel is dialled again without joining again", async () => {
  await using hub = await startFakeHub();
  await using ana = createTestParticipant(hub, endpoint);
  await startWith(hub, ana);
  const again = hub.nextSession();
  hub.sessions[0]!.close(1001, "restart");
  await again;
  expect(hub.calls.filter((call) => call.url.endsWith("/join"))).toHaveLength(1);
  await vi.waitFor(() => expect(ana.participant.state).toBe("connected"));
  expect(ana.notices).toContainEqual(
    expect.objectContaining({ kind: "disconnected", reason: "the hub is restarting" }),
  );
});

test("a wait whose timer fires a moment early is waited to its end", async () => {
  const clock = { ms: 1_000, driftMs: 0 };
  const now = () => {
    const { ms } = clock;
    clock.ms += clock.driftMs;
    return ms;
  };
  await using hub = await startFakeHub();
  // Only the wait reads the clock.
  const world = { monotonicMs: now, random: () => 0.5 };
  const over = { world, timing: { tickMs: 60_000, backoffBaseMs: 40 } };
  await using ana = createTestParticipant(hub, endpoint, over);
  await startWith(hub, ana);
  const again = hub.nextSession();
  hub.cut();
  await vi.waitFor(() => expect(ana.kinds()).toContain("disconnected"));
  Object.assign(clock, { ms: 1_019.99, driftMs: 0.02 });
  await again;
});

test("a refused token stops it permanently", async () => {
  await using hub = await startFakeHub();
  await using ana = createTestParticipant(hub, endpoint);
  await startWith(hub, ana);
  hub.failUpgradeWith = () => 403;
  hub.sessions[0]!.close(1001, "");
  expect(await ana.participant.stopped).toMatchObject({
    code: "participant_token_invalid",
    reason: expect.stringMatching(/no longer valid/),
    hint: "Join again.",
  });
});

test("a tunnel refused as flapping is retried, with one notice of the reason", async () => {
  await using hub = await startFakeHub();
  const refusedAtMs: number[] = [];
  hub.retryAfter = "0.2";
  hub.failUpgradeWith = () => {
    if (refusedAtMs.length === 2) return undefined;
    refusedAtMs.push(performance.now());
    return 429;
  };
  await using ana = createTestParticipant(hub, endpoint);
  await startWith(hub, ana);
  const openedAtMs = performance.now();
  const [first = 0, second = 0] = refusedAtMs;
  expect(second - first).toBeGreaterThanOrEqual(199);
  expect(openedAtMs - second).toBeGreaterThanOrEqual(199);
  const outages = ana.notices.filter((notice) => notice.kind === "disconnected");
  expect(outages).toEqual([
    { kind: "disconnected", reason: "no: tunnel_flapping", retryInMs: expect.closeTo(200, -2) },
  ]);
  expect(hub.calls.filter(({ url }) => url.endsWith("/join"))).toHaveLength(1);
});

test("an agent replaced by another with the same id does not reconnect", async () => {
  await using hub = await startFakeHub();
  await using ana = createTestParticipant(hub, endpoint);
  await startWith(hub, ana);
  hub.sessions[0]!.close(4001, "replaced");
  expect(await ana.participant.stopped).toMatchObject({ code: "replaced" });
});

test("heartbeats: a network failure is ignored, 404 joins again, 403 stops", async () => {
  await using hub = await startFakeHub();
  let respond: { status: number; code: string } | undefined = { status: 500, code: "x" };
  hub.failWith = ({ url }) => {
    if (!url.endsWith("/heartbeat")) return undefined;
    const failure = respond;
    if (failure?.status === 404) respond = undefined;
    return failure;
  };
  await using ana = createTestParticipant(hub, endpoint, {
    timing: { heartbeatMs: 15 },
  });
  await startWith(hub, ana);
  const beats = () => hub.calls.filter((call) => call.url.endsWith("/heartbeat"));
  await vi.waitFor(() => expect(beats().length).toBeGreaterThan(2));
  expect(beats()[0]).toMatchObject({
    method: "POST",
    url: "/v1/rooms/ABC234/participants/ana/heartbeat",
    token: "rhp_1",
  });
  expect(hub.sessions).toHaveLength(1);
  const again = hub.nextSession();
  respond = { status: 404, code: "participant_not_found" };
  await again;
  expect(ana.kinds().filter((kind) => kind === "joined")).toHaveLength(2);
  respond = { status: 403, code: "participant_token_invalid" };
  expect(await ana.participant.stopped).toMatchObject({ code: "participant_token_invalid" });
});

test("after sleep, a hub that does not respond to a ping is redialled", async () => {
  await using hub = await startFakeHub();
  let wallMs = 1_000;
  await using ana = createTestParticipant(hub, endpoint, {
    world: { wallMs: () => wallMs },
    timing: { wakePongMs: 60 },
  });
  await startWith(hub, ana);
  const beats = () => hub.calls.filter((call) => call.url.endsWith("/heartbeat")).length;
  wallMs += 3_600_000;
  // The fake hub answers pings: nothing but a heartbeat follows.
  await vi.waitFor(() => expect(beats()).toBe(1));
  const again = hub.nextSession();
  // One that takes no bytes any more does not respond.
  const [socket] = hub.upgrades.map((request) => request.socket);
  socket!.pause();
  wallMs += 3_600_000;
  await again;
  expect(hub.sessions).toHaveLength(2);
});

test("the hub is informed of a provider that is down from the start, and of its recovery", async () => {
  const before = await startFakeModelServer(() => {});
  await before.close();
  await using hub = await startFakeHub();
  await using ana = createTestParticipant(hub, before.endpoint, {
    timing: { providerRecheckMs: 20, providerCheckMs: 20 },
  });
  await startWith(hub, ana);
  await vi.waitFor(() => expect(hub.statuses.at(-1)?.readiness).toBe("down"));
  expect(hub.statuses.at(-1)).toMatchObject({
    ready: false,
    reason: expect.stringMatching(/^127\.0\.0\.1:\d+ refused/),
  });
  const model = await startFakeModelServer(() => {}, before.port);
  await vi.waitFor(() => expect(hub.statuses).toContainEqual({ ready: true, readiness: "ready" }));
  const found = { openResponses: "supported", chatCompletions: "supported" };
  await vi.waitFor(() =>
    expect(hub.statuses.at(-1)).toMatchObject({ ready: true, capabilities: found }),
  );
  await model.close();
  await vi.waitFor(() => expect(hub.statuses.at(-1)?.ready).toBe(false));
  expect(verdictsOf(ana)).toEqual(["down", "ready", "down"]);
});

test("the hub gets the loading status before the response that shows it", async () => {
  await using hub = await startFakeHub();
  await using model = await startFakeModelServer((response) => {
    response.writeHead(503).end('{"error":{"message":"Loading model"}}');
  });
  await using ana = createTestParticipant(hub, model.endpoint);
  const session = await startWith(hub, ana);
  const exchange = send(session);
  const known = exchange.head.then(() => [exchange.status, hub.statuses.at(-1)]);
  expect(await known).toMatchObject([
    503,
    { ready: false, readiness: "loading", reason: "is loading its model" },
  ]);
  await exchange.closed;
});

test("followModel adopts the server's model: only the name is updated at the hub, and the tunnel stays open", async () => {
  await using hub = await startFakeHub();
  await using model = await startFakeModelServer((response) => response.end("{}"));
  await using ana = createTestParticipant(hub, model.endpoint, {
    ...{ model: "m", followModel: true },
    timing: { providerCheckMs: 20 },
  });
  const session = await startWith(hub, ana);
  await vi.waitFor(() => expect(model.listings).toBeGreaterThan(1));
  model.models.splice(0, 1, "n", "o");
  await vi.waitFor(() => expect(ana.kinds()).toContain("model-changed"));
  const changes = hub.calls.filter(({ method }) => method === "PUT");
  expect(changes).toEqual([
    {
      ...{ method: "PUT", url: "/v1/rooms/ABC234/participants/ana" },
      ...{ token: "rhp_1", body: '{"model":"n"}' },
    },
  ]);
  expect(hub.statuses.filter(({ ready }) => !ready)).toEqual([]);
  await send(session).closed;
  expect(ana.notices.at(-1)).toMatchObject({ kind: "request-ended", model: "n" });

  const again = hub.nextSession();
  session.close(1001, "forgets everything");
  hub.failUpgradeWith = () => {
    hub.failUpgradeWith = () => undefined;
    return 404;
  };
  await again;
  const joins = hub.calls.filter(({ url }) => url.endsWith("/join"));
  expect(joins.map(({ body }) => (JSON.parse(body) as { model: string }).model)).toEqual([
    "m",
    "n",
  ]);
});

test("no response of a hub crashes it", async () => {
  await using hub = await startFakeHub();
  for (const url of [
    "file:///x",
    "http://[",
    "ws://",
    "ws://127.0.0.1:1/x",
    "ws://u:p@[::1]:1/#x",
  ]) {
    hub.tunnelUrl = url;
    await using ana = createTestParticipant(hub, endpoint);
    void ana.participant.start().catch(() => {});
    await vi.waitFor(() => expect(ana.kinds()).toContain("disconnected"));
  }
});

test("invalid options are refused immediately", () => {
  const hub = { url: "http://127.0.0.1:5050" };
  expect(() => createTestParticipant(hub, "ftp://x")).toThrow(/http:\/\/ or https/);
  expect(() => createTestParticipant(hub, endpoint, { headers: { host: "x" } })).toThrow(/host/);
  expect(() => createTestParticipant(hub, endpoint, { authHeaders: { "a b": "x" } })).toThrow(
    /token/,
  );
  expect(() => createTestParticipant({ url: "http://[" }, endpoint)).toThrow(/hub URL/);
});

test("a participant that never started closes; start() of one closed while it waits is rejected", async () => {
  const idle = createTestParticipant({ url: "http://127.0.0.1:1" }, endpoint);
  await idle.participant.close();
  const waiting = createTestParticipant({ url: "http://127.0.0.1:1" }, endpoint);
  const started = waiting.participant.start();
  await vi.waitFor(() => expect(waiting.kinds()).toContain("disconnected"));
  await waiting.participant.close();
  await expect(started).rejects.toMatchObject({ code: "closed" });
});

test("pause is reported to the hub, also after a redial, and resume restores the readiness of the model server", async () => {
  await using hub = await startFakeHub();
  await using model = await startFakeModelServer((response) => response.end("{}"));
  await using ana = createTestParticipant(hub, model.endpoint);
  const session = await startWith(hub, ana);
  const latest = (status: object) =>
    vi.waitFor(() => expect(hub.statuses.at(-1)).toMatchObject(status));
  ana.participant.pause();
  ana.participant.pause();
  await latest({ ready: false, readiness: undefined, reason: "paused" });
  expect(hub.statuses.filter(({ reason }) => reason === "paused")).toHaveLength(1);
  const again = hub.nextSession();
  session.close(1001, "away for a moment");
  await again;
  await vi.waitFor(() =>
    expect(hub.statuses.filter(({ reason }) => reason === "paused")).toHaveLength(2),
  );
  ana.participant.resume();
  await latest({ ready: true, readiness: "ready", reason: undefined });
});
