import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { expect, test, vi } from "vitest";
import { type FakeHub, send, startFakeHub } from "./fake-hub.fixture.ts";
import { startFakeModelServer } from "./fake-model-server.fixture.ts";
import { createTestParticipant, startWith } from "./test-participant.fixture.ts";

const path = "/v1/rooms/ABC234/participants/ana/tunnel";

/** The hub that the user names, and the room's home behind it. */
async function hubAndHome(homeEpoch = 1) {
  const [hub, home] = [await startFakeHub(), await startFakeHub()];
  hub.hubs = [home.url, hub.url];
  hub.homeEpoch = homeEpoch;
  home.homeEpoch = homeEpoch;
  const model = await startFakeModelServer((response) => response.end("{}"));
  const ana = createTestParticipant(hub, model.endpoint);
  names(hub, home.url, homeEpoch);
  return {
    ...{ hub, home, ana },
    async [Symbol.asyncDispose]() {
      await ana[Symbol.asyncDispose]();
      await Promise.all([hub.close(), home.close(), model.close()]);
    },
  };
}

/** The hub sends tunnels to another one, except those that it is asked to pass on. */
function names(hub: FakeHub, homeUrl: string, homeEpoch: number): void {
  const url = homeUrl.replace("http", "ws") + path;
  const error = { message: "Another hub is the home of room ABC234.", type: "", param: "" };
  hub.upgradeBody = JSON.stringify({
    ...{ error: { ...error, code: "home_elsewhere" }, tunnel: { url }, homeEpoch },
  });
  hub.failUpgradeWith = () => (pipes(hub).at(-1) === "1" ? undefined : 421);
}

const pipes = (hub: FakeHub) => hub.upgrades.map(({ headers }) => headers["x-roomhub-pipe"]);
const epochs = (hub: FakeHub) => hub.upgrades.map(({ headers }) => headers["x-roomhub-home-epoch"]);
const joinsOf = (hub: FakeHub) => hub.calls.filter(({ url }) => url.endsWith("/join"));

test("an agent goes to the home of its room, and shows the epoch that it has seen", async () => {
  await using it = await hubAndHome(3);
  await startWith(it.home, it.ana);
  expect(it.hub.upgrades[0]?.url).toBe(path);
  expect(it.home.upgrades[0]?.headers.authorization).toBe("Bearer rhp_1");
  expect([epochs(it.hub), epochs(it.home)]).toEqual([["3"], ["3"]]);
  expect(it.home.calls).toEqual([]);
  expect(it.ana.kinds()).not.toContain("disconnected");
});

test("an agent that cannot reach the home asks the hub that it has to pass its tunnel on", async () => {
  await using it = await hubAndHome();
  await it.home.close();
  await startWith(it.hub, it.ana);
  expect(pipes(it.hub)).toEqual([undefined, "1"]);
  expect(it.ana.kinds()).not.toContain("disconnected");
});

test("an agent that reaches something else where the home is asks its hub to pass the tunnel on", async () => {
  await using it = await hubAndHome();
  it.home.failUpgradeWith = () => 403;
  await startWith(it.hub, it.ana);
  expect(pipes(it.hub)).toEqual([undefined, "1"]);
});

test("an agent does not wait for a home that is silent", async () => {
  await using it = await hubAndHome();
  const dialled = Promise.withResolvers<Duplex>();
  await using silent = createServer().on("upgrade", (_request, socket) => dialled.resolve(socket));
  silent.listen(0, "127.0.0.1");
  await once(silent, "listening");
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  it.hub.hubs = [url, it.hub.url];
  names(it.hub, url, 1);
  await using ben = createTestParticipant(it.hub, "http://127.0.0.1:9", {
    timing: { clusterDialMs: 30, dialMs: 60_000 },
  });
  await startWith(it.hub, ben);
  expect(pipes(it.hub)).toEqual([undefined, "1"]);
  (await dialled.promise).destroy();
});

test("the token of an agent goes to no stranger that is named as the home", async () => {
  await using stranger = await startFakeHub();
  await using it = await hubAndHome();
  names(it.hub, stranger.url, 1);
  await startWith(it.hub, it.ana);
  expect(stranger.upgrades).toEqual([]);
});

test("two hubs that name one another are dialled five times, then the first one passes the tunnel on", async () => {
  await using it = await hubAndHome();
  names(it.home, it.hub.url, 1);
  await startWith(it.hub, it.ana);
  expect(pipes(it.hub)).toEqual([undefined, undefined, undefined, "1"]);
  expect(it.home.upgrades).toHaveLength(3);
});

test("an agent whose connection was lost tries the address that it was given first", async () => {
  await using it = await hubAndHome();
  const session = await startWith(it.home, it.ana);
  it.hub.failUpgradeWith = () => undefined;
  const again = it.hub.nextSession();
  session.close(1011, "broken");
  await again;
  expect(it.hub.upgrades).toHaveLength(2);
  expect(it.home.upgrades).toHaveLength(1);
  expect(joinsOf(it.hub)).toHaveLength(1);
});

test("an agent that joined at another hub tries the address that it was given first, too", async () => {
  await using it = await hubAndHome();
  it.hub.failUpgradeWith = () => undefined;
  await startWith(it.hub, it.ana);
  const { port } = it.hub;
  const moved = it.home.nextSession();
  await it.hub.close();
  const session = await moved;
  expect(joinsOf(it.home)).toMatchObject([{ token: "rhp_1" }]);
  await using back = await startFakeHub(port);
  back.homeEpoch = 1;
  const again = back.nextSession();
  session.close(1011, "broken");
  await again;
  expect(joinsOf(back)).toEqual([]);
});

test("an agent with one address follows the home at once, while what runs there finishes", async () => {
  await using hub = await startFakeHub();
  hub.homeEpoch = 1;
  const responses: ServerResponse[] = [];
  await using model = await startFakeModelServer((response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.write("{");
    responses.push(response);
  });
  let nowMs = 0;
  await using ana = createTestParticipant(hub, model.endpoint, {
    world: { monotonicMs: () => nowMs },
  });
  const session = await startWith(hub, ana);
  const running = send(session);
  await running.head;
  nowMs = 1_000;
  hub.homeEpoch = 2;
  const moved = hub.nextSession();
  session.goAway("another hub is the home of the room");
  const next = send(await moved);
  await next.head;
  expect([ana.participant.state, session.isOpen]).toEqual(["connected", true]);
  for (const response of responses) response.end("}");
  await Promise.all([running.closed, next.closed]);
  expect([running.body, next.body]).toEqual(["{}", "{}"]);
  expect(joinsOf(hub)).toHaveLength(1);
  expect(ana.kinds()).not.toContain("disconnected");
});

test("an agent goes to no home that was replaced, and says why", async () => {
  await using hub = await startFakeHub();
  hub.homeEpoch = 5;
  await using ana = createTestParticipant(hub, "http://127.0.0.1:9");
  const session = await startWith(hub, ana);
  hub.homeEpoch = 4;
  const stale = hub.nextSession();
  session.close(1011, "broken");
  const refused = await stale;
  await vi.waitFor(() => expect(refused.isOpen).toBe(false));
  const reason = "is behind: it names epoch 4 of the room's home, which has reached 5";
  await vi.waitFor(() => {
    const outages = ana.notices.filter(({ kind }) => kind === "disconnected");
    expect(outages.at(-1)).toMatchObject({ reason: expect.stringContaining(reason) });
  });
  hub.homeEpoch = 6;
  await vi.waitFor(() => expect(ana.participant.state).toBe("connected"));
  expect(epochs(hub).at(-1)).toBe("5");
});

test("a join at a home that was replaced does not count: its token is dropped", async () => {
  await using hub = await startFakeHub();
  hub.homeEpoch = 5;
  await using ana = createTestParticipant(hub, "http://127.0.0.1:9");
  const session = await startWith(hub, ana);
  hub.homeEpoch = 4;
  hub.failUpgradeWith = () => (joinsOf(hub).length === 1 ? 404 : undefined);
  session.close(1011, "broken");
  await vi.waitFor(() => expect(joinsOf(hub).length).toBe(2));
  await vi.waitFor(() => expect(hub.sessions.length).toBeGreaterThan(1));
  hub.homeEpoch = 6;
  await vi.waitFor(() => expect(ana.participant.state).toBe("connected"));
  expect(joinsOf(hub)).toHaveLength(2);
  expect(ana.notices.filter(({ kind }) => kind === "joined")).toHaveLength(1);
  for (const { headers } of hub.upgrades) expect(headers.authorization).toBe("Bearer rhp_1");
});

test("a hub whose rooms have no homes is served as ever, also after one that has", async () => {
  await using hub = await startFakeHub();
  hub.homeEpoch = 5;
  await using ana = createTestParticipant(hub, "http://127.0.0.1:9");
  const session = await startWith(hub, ana);
  hub.homeEpoch = undefined;
  const again = hub.nextSession();
  session.close(1011, "broken");
  expect((await again).isOpen).toBe(true);
  await vi.waitFor(() => expect(ana.participant.state).toBe("connected"));
});

test("streams that wait are resumed at the hub that has them, by its own address", async () => {
  await using it = await hubAndHome();
  it.home.resumeMs = 30_000;
  const responses: ServerResponse[] = [];
  await using model = await startFakeModelServer((response) => {
    response.writeHead(200).write("one ");
    responses.push(response);
  });
  await using ben = createTestParticipant(it.hub, model.endpoint);
  const session = await startWith(it.home, ben);
  const exchange = send(session);
  await exchange.head;
  const asked = it.hub.upgrades.length;
  it.home.cut();
  await vi.waitFor(() => expect(ben.kinds()).toContain("resumed"));
  responses[0]?.end("two");
  await exchange.closed;
  expect(exchange.body).toBe("one two");
  expect(it.hub.upgrades).toHaveLength(asked);
});

test("streams whose hub is not the home any more go on there, and requests come from the next home", async () => {
  await using it = await hubAndHome();
  it.home.resumeMs = 30_000;
  const responses: ServerResponse[] = [];
  await using model = await startFakeModelServer((response) => {
    response.writeHead(200).write("one ");
    responses.push(response);
  });
  await using ben = createTestParticipant(it.hub, model.endpoint);
  const session = await startWith(it.home, ben);
  const [exchange, another] = [send(session), send(session)];
  await Promise.all([exchange.head, another.head]);
  // Its hub is not reached at first, and the other one says that it is the home now, and where the session is.
  let dials = 0;
  it.home.failUpgradeWith = () => (dials++ === 0 ? 503 : undefined);
  names(it.hub, it.home.url, 2);
  it.hub.upgradeBody = it.hub.upgradeBody?.replace("home_elsewhere", "session_elsewhere");
  const asked = it.hub.upgrades.length;
  it.hub.failUpgradeWith = () => (it.hub.upgrades.length === asked + 1 ? 421 : undefined);
  it.hub.homeEpoch = 2;
  const next = it.hub.nextSession();
  it.home.cut();
  const home = await next;
  expect(session.isOpen).toBe(true);
  await vi.waitFor(() => expect(it.home.goAways).toHaveLength(1));
  // What the hub says of it afterwards concerns this tunnel alone.
  session.goAway("another hub is the home of the room");
  another.stream.reset(1, "leaves");
  await another.closed;
  responses[0]?.end("two");
  await exchange.closed;
  expect(exchange.body).toBe("one two");
  const served = send(home);
  await served.head;
  responses[2]?.end("two");
  await served.closed;
  expect(served.body).toBe("one two");
  expect(it.hub.sessions).toHaveLength(1);
});

test("streams that wait go on by way of the room's next home when theirs cannot be dialled", async () => {
  await using it = await hubAndHome();
  it.home.resumeMs = 200;
  it.hub.resumeMs = 200;
  const responses: ServerResponse[] = [];
  await using model = await startFakeModelServer((response) => {
    response.writeHead(200).write("one ");
    responses.push(response);
  });
  await using ben = createTestParticipant(it.hub, model.endpoint);
  const session = await startWith(it.home, ben);
  const exchange = send(session);
  await exchange.head;
  it.home.failUpgradeWith = () => 503;
  it.hub.failUpgradeWith = () => (joinsOf(it.hub).length === 1 ? 503 : undefined);
  it.hub.tunnelUrl = it.hub.url.replace("http", "ws") + path;
  it.hub.resumable = it.home.resumable;
  it.home.cut();
  await vi.waitFor(() => expect(ben.kinds()).toContain("resumed"));
  responses[0]?.end("two");
  await exchange.closed;
  expect(exchange.body).toBe("one two");
});

/** Something runs at the home, which gives the room to the hub that the user named, and the connection there breaks. */
async function handedOver() {
  const it = await hubAndHome();
  it.home.resumeMs = 30_000;
  it.hub.resumeMs = 30_000;
  const responses: ServerResponse[] = [];
  const model = await startFakeModelServer((response) => {
    response.writeHead(200).write("one ");
    responses.push(response);
  });
  const ben = createTestParticipant(it.hub, model.endpoint);
  const session = await startWith(it.home, ben);
  const running = send(session);
  await running.head;
  it.hub.homeEpoch = 2;
  it.hub.failUpgradeWith = () => undefined;
  const moved = it.hub.nextSession();
  session.goAway("the room has another home");
  const next = await moved;
  return {
    ...{ ...it, ben, running, next, response: responses[0] },
    async [Symbol.asyncDispose]() {
      await ben[Symbol.asyncDispose]();
      await Promise.all([it[Symbol.asyncDispose](), model.close()]);
    },
  };
}

test("what finishes at a hub that gave the room away goes on there when its connection breaks", async () => {
  await using it = await handedOver();
  it.home.cut();
  await vi.waitFor(() => expect(it.home.upgrades).toHaveLength(2));
  it.response?.end("two");
  await it.running.closed;
  expect(it.running.body).toBe("one two");
  expect([it.next.isOpen, it.ben.participant.state]).toEqual([true, "connected"]);
  expect(joinsOf(it.hub)).toHaveLength(1);
  for (const kind of ["interrupted", "disconnected"]) expect(it.ben.kinds()).not.toContain(kind);
});

test("what finishes at a hub that gave the room away is found by way of the next home, too", async () => {
  await using it = await handedOver();
  it.hub.resumable = it.home.resumable;
  it.home.failUpgradeWith = () => 503;
  it.home.cut();
  await vi.waitFor(() => expect(pipes(it.hub).at(-1)).toBe("1"));
  it.response?.end("two");
  await it.running.closed;
  expect(it.running.body).toBe("one two");
  expect(it.next.isOpen).toBe(true);
});

test("the end of a response goes on to a hub that gave the room away, though its connection broke before", async () => {
  await using it = await handedOver();
  it.hub.resumable = it.home.resumable;
  it.home.failUpgradeWith = () => 503;
  it.home.cut();
  it.response?.end("two");
  await it.running.closed;
  expect(it.running.body).toBe("one two");
});

test("what is lost at a hub that gave the room away takes no tunnel's place", async () => {
  await using it = await handedOver();
  it.home.resumable.clear();
  it.home.cut();
  await vi.waitFor(() => expect(it.response?.destroyed).toBe(true));
  expect(it.home.sessions).toHaveLength(1);
  expect([it.next.isOpen, it.ben.participant.state]).toEqual([true, "connected"]);
});
