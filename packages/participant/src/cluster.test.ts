import type { ServerResponse } from "node:http";
import { describe, expect, test, vi } from "vitest";
import { type FakeHub, send, startFakeHub } from "./fake-hub.fixture.ts";
import { startFakeModelServer } from "./fake-model-server.fixture.ts";
import { createTestParticipant, startWith } from "./test-participant.fixture.ts";

/** Two hubs that name each other. */
async function twoHubs(): Promise<AsyncDisposable & { one: FakeHub; other: FakeHub }> {
  const [one, other] = [await startFakeHub(), await startFakeHub()];
  one.hubs = [one.url, other.url];
  other.hubs = [other.url, one.url];
  return {
    one,
    other,
    async [Symbol.asyncDispose]() {
      await Promise.all([one.close(), other.close()]);
    },
  };
}

const joinsOf = (hub: FakeHub) => hub.calls.filter(({ url }) => url.endsWith("/join"));

test("an agent whose hub is lost joins at another one with its token", async () => {
  await using hubs = await twoHubs();
  await using model = await startFakeModelServer((response) => response.end("{}"));
  await using ana = createTestParticipant(hubs.one, model.endpoint);
  await startWith(hubs.one, ana);
  const moved = hubs.other.nextSession();
  await hubs.one.close();
  const exchange = send(await moved);
  await exchange.closed;
  expect(exchange.status).toBe(200);
  expect(joinsOf(hubs.one)).toMatchObject([{ token: undefined }]);
  expect(joinsOf(hubs.other)).toMatchObject([{ token: "rhp_1" }]);
  expect(hubs.other.upgrades[0]?.headers.authorization).toBe("Bearer rhp_1");
});

test("a tunnel that broke is opened again where it was", async () => {
  await using hubs = await twoHubs();
  await using model = await startFakeModelServer((response) => response.end("{}"));
  await using ana = createTestParticipant(hubs.one, model.endpoint);
  const session = await startWith(hubs.one, ana);
  const again = hubs.one.nextSession();
  session.close(1011, "broken");
  await again;
  expect(joinsOf(hubs.one)).toHaveLength(1);
  expect(hubs.other.calls).toEqual([]);
});

test("an agent leaves a hub that stops at once, while what runs there finishes", async () => {
  await using hubs = await twoHubs();
  const responses = new Set<() => void>();
  await using model = await startFakeModelServer((response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.write("{");
    responses.add(() => response.end("}"));
  });
  await using ana = createTestParticipant(hubs.one, model.endpoint);
  const session = await startWith(hubs.one, ana);
  const running = send(session);
  await running.head;
  const moved = hubs.other.nextSession();
  session.goAway("stopping");
  const next = send(await moved);
  await next.head;
  expect(ana.participant.state).toBe("connected");
  expect(session.isOpen).toBe(true);
  for (const finish of responses) finish();
  await Promise.all([running.closed, next.closed]);
  expect([running.body, running.log.at(-2), next.body]).toEqual(["{}", "end", "{}"]);
  await vi.waitFor(() => expect(session.isOpen).toBe(false));
  expect(ana.kinds()).not.toContain("stopped");
  expect(ana.kinds()).not.toContain("disconnected");
});

test("a hub that stops alone keeps its agent until it has drained", async () => {
  await using hub = await startFakeHub();
  await using ana = createTestParticipant(hub, "http://127.0.0.1:9");
  const session = await startWith(hub, ana);
  session.goAway("stopping");
  const again = hub.nextSession();
  session.close(4005, "stopped");
  await again;
  expect(joinsOf(hub)).toHaveLength(1);
});

describe("streams that wait", () => {
  /** Of a hub that resumes, and a response that has begun. */
  async function running(resumeMs: number, timing?: { resumeRefusedMs: number }) {
    const hubs = await twoHubs();
    hubs.one.resumeMs = resumeMs;
    hubs.other.resumeMs = resumeMs;
    const responses: ServerResponse[] = [];
    const model = await startFakeModelServer((response) => {
      response.writeHead(200).write("one ");
      responses.push(response);
    });
    const ana = createTestParticipant(hubs.one, model.endpoint, { timing });
    const session = await startWith(hubs.one, ana);
    const exchange = send(session);
    await exchange.head;
    return {
      ...{ ...hubs, ana, exchange, responses },
      /** The rest of the response arrives, too. */
      async goesOn() {
        await vi.waitFor(() => expect(ana.kinds()).toContain("resumed"));
        responses[0]!.end("two");
        await exchange.closed;
        expect(exchange.body).toBe("one two");
      },
      async [Symbol.asyncDispose]() {
        await ana[Symbol.asyncDispose]();
        await model.close();
        await hubs[Symbol.asyncDispose]();
      },
    };
  }

  test("go on at their hub when that comes back, though it could not be dialled at first", async () => {
    await using it = await running(30_000);
    it.one.failUpgradeWith = () => (it.one.upgrades.length < 5 ? 503 : undefined);
    it.one.cut();
    await it.goesOn();
    expect(it.other.calls).toEqual([]);
  });

  test("are given up for another hub when theirs is not back after half the time", async () => {
    await using it = await running(200);
    it.one.failUpgradeWith = () => 503;
    const moved = it.other.nextSession();
    it.one.cut();
    await moved;
    expect(it.one.upgrades.length).toBeGreaterThan(2);
    await vi.waitFor(() => expect(it.responses[0]?.destroyed).toBe(true));
    expect(it.other.offers).toMatchObject([{ claim: undefined }]);
    expect(it.ana.kinds()).not.toContain("resumed");
  });

  test("are given up for another hub soon when nothing listens where theirs was", async () => {
    await using it = await running(300_000, { resumeRefusedMs: 30 });
    const moved = it.other.nextSession();
    await it.one.close();
    await moved;
    await vi.waitFor(() => expect(it.responses[0]?.destroyed).toBe(true));
    expect(it.ana.kinds()).toContain("interrupted");
  });

  test("are not given up while no hub takes the participant", async () => {
    await using it = await running(200);
    it.one.failUpgradeWith = () => 503;
    it.other.failWith = () => ({ status: 503, code: "peer_unavailable" });
    it.one.cut();
    await vi.waitFor(() => expect(joinsOf(it.other).length).toBeGreaterThan(0));
    expect(it.responses[0]?.destroyed).toBe(false);
    it.one.failUpgradeWith = () => undefined;
    await it.goesOn();
  });

  /** Where the second hub says that the tunnel is. */
  const elsewhere = (hub: FakeHub) =>
    JSON.stringify({ error: {}, tunnel: { url: `${hub.url.replace("http", "ws")}/v1/t` } });

  test("go on through another hub that has them, when theirs says so", async () => {
    await using it = await running(30_000);
    it.other.resumable = it.one.resumable;
    it.one.failUpgradeWith = () => 421;
    it.one.upgradeBody = elsewhere(it.other);
    it.one.cut();
    await it.goesOn();
    expect(it.other.calls).toEqual([]);
    expect(it.other.upgrades[0]?.headers).toMatchObject({
      ...{ authorization: "Bearer rhp_1", "x-roomhub-session": "session-1" },
    });
  });

  test("are not looked for at a stranger, nor further than one hub away", async () => {
    await using stranger = await startFakeHub();
    await using it = await running(200);
    it.one.failUpgradeWith = () => 421;
    it.one.upgradeBody = elsewhere(stranger);
    it.other.upgradeBody = elsewhere(it.one);
    it.other.failUpgradeWith = () => (joinsOf(it.other).length === 0 ? 421 : undefined);
    it.one.cut();
    await vi.waitFor(() => expect(it.one.upgrades.length).toBeGreaterThan(2));
    it.one.upgradeBody = elsewhere(it.other);
    await vi.waitFor(() => expect(joinsOf(it.other)).toHaveLength(1));
    expect(stranger.upgrades).toEqual([]);
    const [there, here] = [it.other.upgrades.length, it.one.upgrades.length];
    expect(there).toBeLessThan(here);
  });
});
