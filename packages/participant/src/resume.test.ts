import type { ServerResponse } from "node:http";
import { expect, test, vi } from "vitest";
import { type FakeHub, send, startFakeHub } from "./fake-hub.fixture.ts";
import { type FakeModelServer, startFakeModelServer } from "./fake-model-server.fixture.ts";
import {
  createTestParticipant,
  startWith,
  type TestParticipant,
  type TestOptions,
} from "./test-participant.fixture.ts";

interface Scene extends AsyncDisposable {
  hub: FakeHub;
  model: FakeModelServer;
  ana: TestParticipant;
  /** of the provider, in the order of the requests; each has written `one ` */
  responses: ServerResponse[];
  /** A request whose response has begun. */
  run(): Promise<ReturnType<typeof send>>;
}

/** A participant with a hub that resumes, and a provider that responds piece by piece. */
async function scene(over: TestOptions = {}): Promise<Scene> {
  const hub = await startFakeHub();
  hub.resumeMs = 30_000;
  const responses: ServerResponse[] = [];
  const model = await startFakeModelServer((response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("one ");
    responses.push(response);
  });
  const ana = createTestParticipant(hub, model.endpoint, over);
  await startWith(hub, ana);
  return {
    ...{ hub, model, ana, responses },
    async run() {
      const exchange = send(hub.sessions.at(-1)!);
      await exchange.head;
      return exchange;
    },
    async [Symbol.asyncDispose]() {
      await ana[Symbol.asyncDispose]();
      await model.close();
      await hub.close();
    },
  };
}

const callsOf = ({ model }: Scene) => model.requests.filter(({ url }) => url.includes("chat"));
const joinsOf = ({ hub }: Scene) => hub.calls.filter(({ url }) => url.endsWith("/join"));

/** With a new session. */
const connectedAgain = ({ ana }: Scene) =>
  vi.waitFor(() => {
    expect(ana.kinds().filter((kind) => kind === "connected").length).toBeGreaterThan(1);
    expect(ana.participant.state).toBe("connected");
  });

test("a response goes on where it was when the tunnel comes back, and its provider notices nothing", async () => {
  await using it = await scene();
  const exchange = await it.run();
  it.hub.cut();
  it.responses[0]!.write("two ");
  await vi.waitFor(() => expect(it.ana.kinds()).toContain("resumed"));
  it.responses[0]!.end("three");
  await exchange.closed;
  expect(exchange.body).toBe("one two three");
  expect(exchange.log).toEqual(["head", "end", "closed"]);
  expect(callsOf(it)).toHaveLength(1);
  expect(it.hub.sessions).toHaveLength(1);
  expect(joinsOf(it)).toHaveLength(1);
  expect(it.ana.kinds()).toEqual([
    "joined",
    "connected",
    "request-started",
    "interrupted",
    "resumed",
    "request-ended",
  ]);
  expect(it.ana.notices).toContainEqual({ kind: "interrupted", streams: 1 });
  expect(it.ana.notices).toContainEqual({
    ...{ kind: "resumed", streams: 1, afterMs: expect.any(Number) },
  });
  expect(it.ana.participant.state).toBe("connected");
});

test("a handshake names the session, and only HELLO has its secret", async () => {
  await using it = await scene();
  await it.run();
  it.hub.cut();
  await vi.waitFor(() => expect(it.ana.kinds()).toContain("resumed"));
  const [first, second] = it.hub.upgrades.map(({ headers }) => headers["x-roomhub-session"]);
  expect([first, second]).toEqual([undefined, "session-1"]);
  expect(JSON.stringify(it.hub.upgrades[1]?.rawHeaders)).not.toContain("secret-1");
  expect(it.hub.offers).toMatchObject([
    { claim: undefined },
    { claim: { id: "session-1", secret: "secret-1", generation: 2 } },
  ]);
  expect(it.hub.offers[1]?.bootId).toBe(it.hub.offers[0]?.bootId);
});

test("a hub that has forgotten the session ends the provider's call at once", async () => {
  await using it = await scene();
  await it.run();
  it.hub.resumable.clear();
  const again = it.hub.nextSession();
  it.hub.cut();
  await again;
  await vi.waitFor(() => expect(it.responses[0]?.destroyed).toBe(true));
  await connectedAgain(it);
  expect(it.ana.kinds()).not.toContain("resumed");
  const exchange = await it.run();
  it.responses[1]!.end();
  await exchange.closed;
  expect(exchange.body).toBe("one ");
});

test("a hub that refuses the session ends the provider's call, and serves the participant on", async () => {
  await using it = await scene();
  await it.run();
  for (const known of it.hub.resumable.values()) known.secret = "another";
  const again = it.hub.nextSession();
  it.hub.cut();
  await again;
  await vi.waitFor(() => expect(it.responses[0]?.destroyed).toBe(true));
  expect(it.hub.offers.at(-1)?.claim).toBeUndefined();
  await connectedAgain(it);
  expect(it.ana.kinds()).not.toContain("stopped");
});

test("a hub that does not resume ends the provider's call when the connection breaks", async () => {
  await using it = await scene();
  it.hub.resumeMs = 0;
  const again = it.hub.nextSession();
  it.hub.cut();
  await again;
  await it.run();
  const broken = it.hub.nextSession();
  it.hub.cut();
  await vi.waitFor(() => expect(it.responses[0]?.destroyed).toBe(true));
  await broken;
  await connectedAgain(it);
  expect(it.ana.kinds()).toContain("disconnected");
  expect(it.ana.kinds()).not.toContain("interrupted");
});

test("a connection may break again and again, in the middle of both bodies", async () => {
  await using it = await scene();
  const body = Buffer.alloc(3_000_000, "question ");
  const exchange = send(it.hub.sessions.at(-1)!, {}, [body]);
  let resumes = 0;
  const resumed = async () => {
    resumes += 1;
    await vi.waitFor(() =>
      expect(it.ana.kinds().filter((kind) => kind === "resumed")).toHaveLength(resumes),
    );
  };
  await vi.waitFor(() => expect(it.ana.kinds()).toContain("request-started"));
  it.hub.cut();
  await resumed();
  await exchange.head;
  const answer = Buffer.alloc(200_000, "answer ").toString();
  it.responses[0]!.write(answer);
  it.hub.cut();
  await resumed();
  it.hub.cut();
  await resumed();
  it.responses[0]!.end("three");
  await exchange.closed;
  expect(exchange.body).toBe(`one ${answer}three`);
  expect(callsOf(it)).toHaveLength(1);
  expect(callsOf(it)[0]?.body).toBe(body.toString("latin1"));
});

test("a hub that does not come back loses the streams 5 s after its own limit, and sleep counts", async () => {
  let wallMs = 1_000_000;
  let ticks = 0;
  const wallNow = () => {
    ticks += 1;
    return wallMs;
  };
  const nextTicks = async () => {
    const from = ticks;
    await vi.waitFor(() => expect(ticks).toBeGreaterThan(from + 1));
  };
  await using it = await scene({
    world: { wallMs: wallNow, monotonicMs: () => 0 },
  });
  await it.run();
  it.hub.failUpgradeWith = () => 503;
  it.hub.cut();
  await vi.waitFor(() => expect(it.ana.kinds()).toContain("disconnected"));
  await nextTicks();
  wallMs += 34_999;
  await nextTicks();
  expect(it.ana.kinds()).not.toContain("request-ended");
  expect(it.responses[0]?.destroyed).toBe(false);
  wallMs += 5_001;
  await vi.waitFor(() => expect(it.responses[0]?.destroyed).toBe(true));
  const cancelled = expect.objectContaining({ kind: "request-ended", outcome: "cancelled" });
  await vi.waitFor(() => expect(it.ana.notices).toContainEqual(cancelled));
});

test("after sleep, streams go on over another connection when the hub does not respond to a ping", async () => {
  let wallMs = 1_000_000;
  await using it = await scene({
    world: { wallMs: () => wallMs },
    timing: { resumePongMs: 30 },
  });
  const exchange = await it.run();
  // Half-open: the hub has not noticed that anything happened.
  it.hub.upgrades[0]!.socket.pause();
  wallMs += 20_000;
  await vi.waitFor(() => expect(it.ana.kinds()).toContain("resumed"));
  it.responses[0]!.end("two");
  await exchange.closed;
  expect(exchange.body).toBe("one two");
  expect(it.hub.sessions).toHaveLength(1);
});

test("a hub that was reached may take its time to shake hands, while streams wait", async () => {
  await using it = await scene({ timing: { resumeReachMs: 40 } });
  const exchange = await it.run();
  it.hub.upgradeDelayMs = 300;
  it.hub.cut();
  await vi.waitFor(() => expect(it.ana.kinds()).toContain("resumed"));
  expect(it.hub.upgrades).toHaveLength(2);
  it.responses[0]!.end("two");
  await exchange.closed;
  expect(exchange.body).toBe("one two");
});

test("a participant that the hub has forgotten ends its provider's calls and joins again", async () => {
  await using it = await scene();
  await it.run();
  it.hub.failUpgradeWith = () => (joinsOf(it).length === 1 ? 404 : undefined);
  it.hub.cut();
  await vi.waitFor(() => expect(it.responses[0]?.destroyed).toBe(true));
  await connectedAgain(it);
  expect(it.hub.offers.at(-1)?.claim).toBeUndefined();
});

test("the error page of a proxy that starts again ends nothing", async () => {
  await using it = await scene();
  const exchange = await it.run();
  let pages = 0;
  it.hub.upgradeBody = "<h1>no such site</h1>";
  it.hub.failUpgradeWith = () => (pages++ < 3 ? 404 : undefined);
  it.hub.cut();
  await vi.waitFor(() => expect(it.ana.kinds()).toContain("resumed"));
  it.responses[0]!.end();
  await exchange.closed;
  expect(exchange.log).toEqual(["head", "end", "closed"]);
  expect(joinsOf(it)).toHaveLength(1);
});

test("pausing while the connection is gone is known to the hub once it is back", async () => {
  await using it = await scene();
  await it.run();
  it.hub.failUpgradeWith = () => 503;
  it.hub.cut();
  await vi.waitFor(() => expect(it.ana.kinds()).toContain("interrupted"));
  it.ana.participant.pause();
  it.hub.failUpgradeWith = () => undefined;
  await vi.waitFor(() => expect(it.ana.kinds()).toContain("resumed"));
  await vi.waitFor(() => expect(it.hub.statuses.at(-1)).toMatchObject({ reason: "paused" }));
  it.ana.participant.resume();
  await vi.waitFor(() => expect(it.hub.statuses.at(-1)).toMatchObject({ ready: true }));
});

test("closing while the connection is gone waits for the streams to go on and end", async () => {
  await using it = await scene();
  const exchange = await it.run();
  it.hub.failUpgradeWith = () => 503;
  it.hub.cut();
  await vi.waitFor(() => expect(it.ana.kinds()).toContain("interrupted"));
  const closed = it.ana.participant.close({ drainMs: 20_000 });
  it.hub.failUpgradeWith = () => undefined;
  await vi.waitFor(() => expect(it.hub.goAways).toEqual(["leaving"]));
  expect(it.hub.sessions[0]?.isReady).toBe(false);
  it.responses[0]!.end("two");
  await Promise.all([exchange.closed, closed]);
  expect(exchange.body).toBe("one two");
  expect(it.hub.calls.at(-1)?.method).toBe("DELETE");
  expect(it.ana.kinds().at(-1)).toBe("stopped");
});

test("closing while the connection is gone waits for no longer than it may", async () => {
  await using it = await scene();
  await it.run();
  it.hub.failUpgradeWith = () => 503;
  it.hub.cut();
  await vi.waitFor(() => expect(it.ana.kinds()).toContain("interrupted"));
  await it.ana.participant.close({ drainMs: 50 });
  await vi.waitFor(() => expect(it.responses[0]?.destroyed).toBe(true));
  expect(it.hub.calls.at(-1)?.method).toBe("DELETE");
});

test("a participant that is leaving does not join again for the streams that it lost", async () => {
  await using it = await scene();
  await it.run();
  it.hub.failUpgradeWith = () => 503;
  it.hub.cut();
  await vi.waitFor(() => expect(it.ana.kinds()).toContain("interrupted"));
  const closed = it.ana.participant.close({ drainMs: 20_000 });
  it.hub.failUpgradeWith = () => 404;
  await closed;
  expect(joinsOf(it)).toHaveLength(1);
  await vi.waitFor(() => expect(it.responses[0]?.destroyed).toBe(true));
});
