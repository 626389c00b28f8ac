import type { HubEvent, ParticipantSummary } from "@roomhub/protocol";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { userSays } from "../support/clients/openai-client.ts";
import { joinTunnel } from "../support/hub/joining.ts";
import {
  type ClusterHub,
  type ClusterHubOptions,
  startCluster,
} from "../support/hub/start-cluster.ts";
import { freePort } from "../support/programs/nginx.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { createGate, until, within } from "../support/waiting.ts";

/** Three hubs of which one is the home of each room. */
async function startHomes(options: ClusterHubOptions = {}) {
  const cluster = await startCluster(3, {
    ...options,
    cluster: {},
    limits: { drainMs: 5_000, ...options.limits },
  });
  const hubs = cluster.hubs as [ClusterHub, ClusterHub, ClusterHub];
  return Object.assign(cluster, { hubs });
}

async function ready(hub: ClusterHub, code: string): Promise<void> {
  await until(
    "a participant that is ready",
    async () => {
      const response = await hub.fetch(`/rooms/${code}/participants`);
      return ((await response.json()) as { participants: ParticipantSummary[] }).participants;
    },
    (all) => all.some(({ connection }) => connection.readiness === "ready" && connection.connected),
  );
}

function chat(hub: ClusterHub, code: string, stream = false) {
  const json = { model: "ada", messages: userSays("a b c d"), stream };
  return hub.fetch(`/rooms/${code}/v1/chat/completions`, { json });
}

test("a stream that runs when its home stops ends there, and its end has the next number at the next home", async () => {
  const gate = createGate();
  await using provider = await startFakeProvider({
    behave: () => ({ kind: "normal", gate: gate.opened, gateAfterChunks: 1 }),
  });
  await using cluster = await startHomes();
  const [one, other] = cluster.hubs;
  const code = await one.createRoom();
  await using _ada = await joinTunnel(one, code, { endpoint: provider.url });
  await ready(other, code);
  await cluster.linked();
  const before = await one.watch(code);
  const response = await chat(other, code, true);
  expect(response.status).toBe(200);
  await before.waitFor("its begin", () => before.of("llm.request").length === 1);
  const closed = one.hub.close();
  await before.waitFor("the end of the old home's stream", ({ hasEnded }) => hasEnded);
  await ready(other, code);
  const after = await other.watch(code);
  gate.open();
  expect((await response.text()).trimEnd().endsWith("data: [DONE]")).toBe(true);
  await after.waitFor("its end", () => after.of("llm.complete").length === 1);
  await closed;
  const requestId = before.of("llm.request")[0]?.data["requestId"];
  expect(after.of("llm.complete")[0]?.data).toMatchObject({ requestId });
  const numberOf = (id: string | undefined) => id?.split("-");
  const [name, number] = numberOf(before.of("llm.request")[0]?.id) ?? [];
  const [nameAfter, numberAfter] = numberOf(after.of("llm.complete")[0]?.id) ?? [];
  expect(nameAfter).toBe(name);
  expect(Number(numberAfter)).toBeGreaterThan(Number(number));
  for (const events of [before, after]) {
    for (const kind of ["participant.left", "participant.offline"] as const)
      expect(events.of(kind)).toEqual([]);
  }
  expect(after.of("participant.joined")).toEqual([]);
});

/** What happened in a room, wherever its home was: each hub hears of it, those that begin to listen late or end do not. */
function listener(code: string) {
  const events: HubEvent[] = [];
  const known = new Set<string>();
  const listenAt = ({ hub }: ClusterHub) =>
    hub.watch(code, (some) => {
      for (const event of some) {
        const isNew = known.size < known.add(JSON.stringify(event)).size;
        if (isNew) events.push(event);
      }
    });
  return { events, listenAt };
}

/** Over a connection of its own. @returns undefined when it was not accepted */
function post(url: string, json: object): Promise<{ status: number; text: string } | undefined> {
  return new Promise((resolve) => {
    const sent = request(url, { method: "POST", agent: false });
    sent.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => (text += part));
      response.on("close", () => resolve({ status: response.statusCode ?? 0, text }));
    });
    sent.on("error", ({ syscall, message }: NodeJS.ErrnoException) =>
      resolve(syscall === "connect" ? undefined : { status: 0, text: message }),
    );
    sent.end(JSON.stringify(json));
  });
}

function kindsOf(events: readonly HubEvent[], prefix: string): string[] {
  return events.filter(({ type }) => type.startsWith(prefix)).map(({ type }) => type);
}

describe("a request that waits when its home stops", () => {
  const words = (bytes: number) => "word ".repeat(Math.ceil(bytes / 5));
  test.each([
    { how: "of the home's own client", at: 0, prompt: "a b c d", limits: {} },
    { how: "of another hub's client", at: 1, prompt: "a b c d", limits: {} },
    { how: "that its client's hub does not hold", at: 1, prompt: words(200_000), limits: {} },
    {
      how: "with a stream that began with comments",
      at: 1,
      prompt: "a",
      limits: { earlyCommitMs: 1 },
    },
    { how: "of an own client, with comments", at: 0, prompt: "a b", limits: { earlyCommitMs: 1 } },
  ])("is served by the next one: $how", async ({ at, prompt, limits }) => {
    const gate = createGate();
    await using provider = await startFakeProvider({
      behave: () => ({ kind: "normal", gate: gate.opened }),
    });
    // The longest response takes seconds, and passes the hub that stops.
    await using cluster = await startHomes({ limits: { drainMs: 30_000, ...limits } });
    const [one, other] = cluster.hubs;
    const code = await one.createRoom();
    // Its first request gives the room its home.
    await one.fetch(`/rooms/${code}/participants`);
    const config = { maxConcurrency: 1 };
    await using _ada = await joinTunnel(other, code, { endpoint: provider.url, config });
    await ready(other, code);
    await cluster.linked();
    const { events, listenAt } = listener(code);
    cluster.hubs.forEach(listenAt);
    const running = chat(other, code);
    await provider.waitFor(({ requests }) => requests.length === 1);
    const json = { model: "ada", messages: userSays(prompt), stream: true };
    const waiting = cluster.hubs[at]!.fetch(`/rooms/${code}/v1/chat/completions`, { json });
    await until(
      "a request that waits",
      async () =>
        (await one.fetch(`/v1/rooms/${code}/requests`)).json() as Promise<{
          requests: { state: string }[];
        }>,
      ({ requests }) => requests.some(({ state }) => state === "queued"),
    );
    const closed = one.hub.close();
    await ready(other, code);
    gate.open();
    const [first, second] = await Promise.all([running, waiting]);
    expect([first.status, second.status]).toEqual([200, 200]);
    expect((await second.text()).trimEnd().endsWith("data: [DONE]")).toBe(true);
    await first.text();
    await closed;
    await until(
      "two ends",
      () => kindsOf(events, "llm.complete"),
      ({ length }) => length === 2,
    );
    expect(kindsOf(events, "llm.")).toEqual([
      "llm.request",
      "llm.complete",
      "llm.request",
      "llm.complete",
    ]);
  });
});

/** A request whose body ends when `send` is called. Resolves when its hub reads it. */
async function begin(url: string, json: object) {
  const body = JSON.stringify(json);
  const headers = { "content-length": body.length, expect: "100-continue" };
  const sent = request(url, { method: "POST", agent: false, headers });
  const response = once(sent, "response") as Promise<[IncomingMessage]>;
  sent.flushHeaders();
  await within(once(sent, "continue"), "a hub that reads the body");
  sent.write(body.slice(0, 5));
  return async () => {
    sent.end(body.slice(5));
    const [{ statusCode }] = await within(response, "a response");
    return statusCode;
  };
}

test("a request that comes when its hub has nothing to wait for any more is served by the next home, however long it takes", async () => {
  const gate = createGate();
  await using provider = await startFakeProvider({
    behave: () => ({ kind: "normal", gate: gate.opened }),
  });
  await using cluster = await startHomes({ limits: { drainMs: 30_000 } });
  const [one, other] = cluster.hubs;
  const code = await one.createRoom();
  await using _ada = await joinTunnel(other, code, { endpoint: provider.url });
  await ready(other, code);
  await cluster.linked();
  // Its head is not whole: the hub has read of it, and does not take its connection for one that is idle.
  const unfinished = async () => {
    const socket = connect(one.port, "127.0.0.1");
    await within(once(socket, "connect"), "the connection");
    socket.write(`POST /rooms/${code}/v1/chat/completions HTTP/1.1\r\n`);
    return socket;
  };
  const [late, cut] = [await unfinished(), await unfinished()];
  let text = "";
  late.setEncoding("utf8").on("data", (part: string) => (text += part));
  const [lateEnded, cutEnded] = [once(late, "close"), once(cut.resume(), "close")];
  const closed = one.hub.close();
  await ready(other, code);
  const body = JSON.stringify({ model: "ada", messages: userSays("a b c d") });
  late.write(
    `host: hub\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  await provider.waitFor(({ requests }) => requests.length === 1);
  await within(cutEnded, "the end of what the hub does not wait for");
  gate.open();
  await within(lateEnded, "the connection's end");
  expect(text).toMatch(/^HTTP\/1\.1 200 [^]*"finish_reason":"stop"/);
  await closed;
});

describe("a change that is on its way when its home stops", () => {
  test.each([0, 1])("is made at the next one, when it came by hub %i", async (at) => {
    const gate = createGate();
    await using provider = await startFakeProvider({
      behave: () => ({ kind: "normal", gate: gate.opened, gateAfterChunks: 1 }),
    });
    await using cluster = await startHomes();
    const [one, other] = cluster.hubs;
    const code = await other.createRoom("swordfish");
    await one.fetch(`/rooms/${code}/participants`);
    const password = "swordfish";
    await using _ada = await joinTunnel(one, code, { endpoint: provider.url, password });
    await ready(other, code);
    await cluster.linked();
    const running = await chat(one, code, true);
    const { url } = cluster.hubs[at]!;
    const bob = { nickname: "Bob", model: "m", endpoint: "http://10.0.0.1:1", password };
    const parts = await Promise.all([
      begin(`${url}/rooms/${code}/join`, { ...bob, id: "bob" }),
      begin(`${url}/rooms/${code}/health`, { id: "ada" }),
    ]);
    const closed = one.hub.close();
    await ready(other, code);
    expect(await Promise.all(parts.map((send) => send()))).toEqual([201, 200]);
    const ids = await other.fetch(`/rooms/${code}/participants`);
    expect(await ids.json()).toMatchObject({ participants: [{ id: "ada" }, { id: "bob" }] });
    gate.open();
    expect((await running.text()).trimEnd().endsWith("data: [DONE]")).toBe(true);
    await closed;
  });

  test("is made once: a join whose password is checked meanwhile", async () => {
    await using cluster = await startHomes();
    const [first, ...others] = cluster.hubs;
    const code = await first.createRoom("swordfish");
    const join = { model: "m", endpoint: "http://10.0.0.1:1", password: "swordfish" };
    const eve = await first.client.join(code, { ...join, id: "eve", nickname: "Eve" });
    await cluster.linked();
    await first.hub.close();
    // A hub that has not seen the right password yet checks one after the other, some 90 ms each.
    const changed = await others[0]!.fetch(`/v1/rooms/${code}/participants/eve`, {
      ...{ method: "PUT", json: {} },
      headers: { "x-participant-token": eve.participantToken ?? "" },
    });
    const { tunnel } = (await changed.json()) as { tunnel: { url: string } };
    const home = others.find(({ port }) => tunnel.url.includes(`:${port}/`));
    const other = others.find((one) => one !== home);
    const ids = ["ada", "bob", "cyd", "dan"];
    const joins = await Promise.all(
      ids.map((id) => begin(`${other?.url}/rooms/${code}/join`, { ...join, id, nickname: id })),
    );
    const statuses = Promise.all(joins.map((send) => send()));
    await home?.hub.close();
    expect(await statuses).toEqual([201, 201, 201, 201]);
    const listed = await other!.fetch(`/rooms/${code}/participants`);
    const { participants } = (await listed.json()) as { participants: ParticipantSummary[] };
    expect(participants.map(({ id }) => id).sort()).toEqual([...ids, "eve"]);
  });
});

test("a rolling restart under load fails no request, and nobody is announced to have left or joined", async () => {
  await using provider = await startFakeProvider();
  await using cluster = await startCluster(0, { limits: { drainMs: 5_000 } });
  const startAt = (port: number) =>
    cluster.add({ port, cluster: { advertiseUrl: `http://127.0.0.1:${port}` } });
  /** as a balancer knows them: it leaves out those that refuse connections */
  const places: ClusterHub[] = [];
  for (let n = 0; n < 3; n++) places.push(await startAt(await freePort()));
  const code = await places[0]!.createRoom();
  const config = { maxConcurrency: 2 };
  const who = ["ada", "bob", "cyd"].entries();
  await using _all = new AsyncDisposableStack();
  for (const [n, id] of who) {
    const wishes = { endpoint: provider.url, id, nickname: id, config };
    _all.use(await joinTunnel(places[n]!, code, wishes));
  }
  await ready(places[0]!, code);
  await cluster.linked();
  const { events, listenAt } = listener(code);
  places.forEach(listenAt);
  const failures: unknown[] = [];
  let sent = 0;
  const over = new AbortController();
  const send = async (n: number) => {
    const json = { model: "any", messages: userSays("a b c d"), stream: n % 2 === 0 };
    for (let at = n; ; at++) {
      const { url } = places[at % places.length]!;
      const response = await post(`${url}/rooms/${code}/v1/chat/completions`, json);
      if (response !== undefined) return response;
    }
  };
  const client = async () => {
    while (!over.signal.aborted) {
      const { status, text } = await send(sent++);
      const isWhole = text.includes("[DONE]") || text.includes('"finish_reason":"stop"');
      if (status !== 200 || !isWhole) failures.push([status, text]);
    }
  };
  const clients = Array.from({ length: 8 }, client);
  for (const at of places.keys()) {
    const sentBefore = sent;
    await until(
      "some requests",
      () => sent,
      (count) => count > sentBefore + 50,
    );
    const { hub, port } = places[at]!;
    await hub.close();
    const again = await startAt(port);
    await until(
      "the room at the hub that is back",
      async () => (await again.fetch(`/rooms/${code}`)).status,
      (status) => status === 200,
    );
    listenAt(again);
    places[at] = again;
  }
  over.abort();
  await Promise.all(clients);
  expect(failures).toEqual([]);
  await until(
    "all ends",
    () => kindsOf(events, "llm.complete").length,
    (count) => count === sent,
  );
  expect(kindsOf(events, "llm.error")).toEqual([]);
  const ends = events.flatMap((event) => (event.type === "llm.complete" ? [event.requestId] : []));
  expect(new Set(ends).size).toBe(sent);
  for (const kind of ["participant.left", "participant.offline", "participant.joined"])
    expect(kindsOf(events, kind)).toEqual([]);
});
