import { expect, test, vi } from "vitest";
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
