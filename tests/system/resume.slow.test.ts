import type { Limits } from "@roomhub/protocol";
import { describe, expect, test } from "vitest";
import { userSays } from "../support/clients/openai-client.ts";
import { joinTunnel } from "../support/hub/joining.ts";
import { ledgerOf, ledgerProblems, settled } from "../support/hub/ledger.ts";
import { createManualTime, QUICK_SWEEP } from "../support/hub/manual-time.ts";
import { type ClusterHub, startCluster } from "../support/hub/start-cluster.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";
import { openTcpGate } from "../support/programs/tcp-gate.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { createGate, until, within } from "../support/waiting.ts";

const chat = { model: "ada", messages: userSays("hello"), stream: true };

/**
 * A hub on a clock moved by hand, and ada's agent, which reaches it by a network that can be cut. Each generation waits for
 * `generate` behind its first 20 words.
 */
async function openLab(limits: Partial<Limits> = {}, config = {}, responds = true) {
  const time = createManualTime();
  const generation = createGate();
  const provider = await startFakeProvider({
    behave: () =>
      responds
        ? { kind: "normal", words: 300, gate: generation.opened, gateAfterChunks: 20 }
        : { kind: "hang" },
  });
  const hub = await startTestHub({
    world: time.world,
    limits: { ...QUICK_SWEEP, drainMs: 0, ...limits },
  });
  const code = await hub.createRoom();
  const network = await openTcpGate(hub.port);
  const url = `http://127.0.0.1:${network.port}`;
  const joined = await joinTunnel({ url }, code, { endpoint: provider.url, config });
  const events = await hub.watch(code);
  /** The next event of ada that shows it. */
  function nextConnection(wanted: "lost" | "connected"): Promise<void> {
    const seen = events.of("participant.updated").length;
    return events.waitFor(`ada's connection to be ${wanted}`, () =>
      events
        .of("participant.updated")
        .slice(seen)
        .some(({ data }) => connectionOf(data["participant"]) === wanted),
    );
  }
  const ada = () => hub.client.getParticipant(code, "ada");
  const ask = (signal?: AbortSignal) =>
    hub.fetch(`/rooms/${code}/v1/chat/completions`, {
      ...{ method: "POST", body: JSON.stringify(chat) },
      ...(signal === undefined ? {} : { signal }),
    });
  return {
    ...{ hub, code, time, provider, network, joined, events, ada, ask },
    generate: () => generation.open(),
    /** A request whose first words have arrived; the rest of its text follows. */
    async stream(signal?: AbortSignal): Promise<{ text: Promise<string> }> {
      const response = await ask(signal);
      const reader = response.body?.getReader();
      const decoder = new TextDecoder();
      let text = decoder.decode((await reader?.read())?.value, { stream: true });
      const rest = async () => {
        for (;;) {
          const { done = true, value } = (await reader?.read()) ?? {};
          if (done) return text;
          text += decoder.decode(value, { stream: true });
        }
      };
      return { text: rest() };
    },
    /** The network breaks, and the hub has noticed. */
    async lose(): Promise<void> {
      const noticed = nextConnection("lost");
      network.close();
      await noticed;
    },
    /** It is whole again, and the agent is back. */
    async restore(): Promise<void> {
      const back = nextConnection("connected");
      network.open();
      await back;
    },
    async [Symbol.asyncDispose]() {
      await joined[Symbol.asyncDispose]();
      await hub[Symbol.asyncDispose]();
      await network[Symbol.asyncDispose]();
      await provider.close();
    },
  };
}

function connectionOf(participant: unknown): "lost" | "connected" | "other" {
  const { connection } = participant as { connection: { connected: boolean; resuming?: object } };
  if (connection.resuming !== undefined) return "lost";
  return connection.connected ? "connected" : "other";
}

/** What the provider sends to a client that asks it directly. */
async function fromProvider(lab: { provider: { url: string } }): Promise<string> {
  const body = JSON.stringify({ ...chat, model: "fake-model" });
  const response = await fetch(`${lab.provider.url}/chat/completions`, { method: "POST", body });
  return response.text();
}

const generations = ({ provider }: { provider: { requests: { method: string }[] } }) =>
  provider.requests.filter(({ method }) => method === "POST").length;

describe("a stream whose connection breaks", () => {
  test("goes on over the next one: the same bytes, one generation, one end", async () => {
    await using lab = await openLab({}, { maxConcurrency: 5 });
    const streams = await Promise.all(Array.from({ length: 5 }, () => lab.stream()));
    await lab.lose();
    expect(await lab.ada()).toMatchObject({
      status: "online",
      load: { active: 5 },
      connection: { connected: false, path: "tunnel", readiness: "loading" },
    });
    await lab.restore();
    await lab.lose();
    lab.generate();
    await lab.restore();
    const texts = await within(Promise.all(streams.map(({ text }) => text)), "the streams");
    expect(generations(lab)).toBe(5);
    const whole = await fromProvider(lab);
    const comparable = (text: string) => text.replaceAll(/"id":"[^"]*"/g, "");
    expect(new Set(texts.map(comparable))).toEqual(new Set([comparable(whole)]));
    await settled(lab.events, 5);
    expect(ledgerProblems(lab.events)).toEqual([]);
    const ends = ledgerOf(lab.events).flatMap(({ ends: all }) => all);
    expect(ends.map(({ kind, data }) => [kind, data["resumes"]])).toEqual(
      Array.from({ length: 5 }, () => ["llm.complete", 2]),
    );
  });

  test("ends when the hub has not kept what the agent lacks, and the agent serves on over a new session", async () => {
    await using lab = await openLab({ resumeLogBytes: 10 });
    const client = new AbortController();
    const stream = await lab.stream(client.signal);
    stream.text.catch(() => undefined);
    await lab.lose();
    // The agent has to be told, and that is not kept.
    client.abort();
    await lab.events.next("llm.error");
    await lab.restore();
    await lab.provider.waitFor(({ openGenerations }) => openGenerations === 0);
    lab.generate();
    const { text } = await within(lab.stream(), "the next request");
    expect(await text).toContain("[DONE]");
    await settled(lab.events, 2);
    expect(ledgerProblems(lab.events)).toEqual([]);
  });

  test("is cancelled by its client at once, at the model server when the agent is back", async () => {
    await using lab = await openLab();
    const client = new AbortController();
    const stream = await lab.stream(client.signal);
    stream.text.catch(() => undefined);
    await lab.lose();
    client.abort();
    const { data } = await lab.events.next("llm.error");
    expect(data).toMatchObject({ stage: "client", code: "client_disconnected" });
    expect([(await lab.ada()).load.active, lab.provider.openGenerations]).toEqual([1, 1]);
    await lab.restore();
    await lab.provider.waitFor(({ openGenerations }) => openGenerations === 0);
    await until("the slot", lab.ada, ({ load }) => load.active === 0);
    expect(ledgerProblems(lab.events)).toEqual([]);
  });

  test("lets new requests wait, which begin when it is back", async () => {
    await using lab = await openLab();
    const stream = await lab.stream();
    await lab.lose();
    const waiting = lab.ask();
    await until("a request to wait", lab.ada, ({ load }) => load.queued === 1);
    lab.generate();
    await lab.restore();
    const next = await within(waiting, "the request that waited");
    expect(await next.text()).toContain("[DONE]");
    expect(await within(stream.text, "the stream")).toContain("[DONE]");
  });

  test("keeps its client with comments", async () => {
    await using lab = await openLab();
    const stream = await lab.stream();
    await lab.lose();
    await lab.time.advance(16_000);
    lab.generate();
    await lab.restore();
    expect(await within(stream.text, "the stream")).toMatch(
      /\n\n: keepalive\n\ndata: .*\[DONE\]\n\n$/s,
    );
  });

  test("waits on while its participant is offline, which is online again with it", async () => {
    await using lab = await openLab({ resumeMs: 120_000 });
    const stream = await lab.stream();
    await lab.lose();
    await lab.time.advance(31_000);
    await lab.events.next("participant.offline");
    const before = lab.events.events.length;
    await lab.time.advance(30_000);
    expect(lab.events.events.length).toBe(before);
    lab.generate();
    await lab.restore();
    expect(await within(stream.text, "the stream")).toContain("[DONE]");
    await settled(lab.events, 1);
    const seen = lab.events.events.slice(before).map(({ kind }) => kind);
    expect(seen).toEqual(["participant.updated", "llm.complete"]);
    expect((await lab.ada()).status).toBe("online");
  });

  test("ends with tunnel_lost when that takes longer than resumeMs", async () => {
    await using lab = await openLab({ resumeMs: 20_000 });
    const stream = await lab.stream();
    await lab.lose();
    await lab.time.advance(18_000);
    expect((await lab.ada()).connection.resuming).toEqual({ streams: 1, sinceMs: 18_000 });
    await lab.time.advance(4_000);
    expect(await within(stream.text, "the stream")).toContain('"code":"tunnel_lost"');
    expect((await lab.ada()).connection).toMatchObject({ connected: false, readiness: "down" });
    await settled(lab.events, 1);
    const [entry] = ledgerOf(lab.events);
    expect(entry?.ends.map(({ data }) => data["code"])).toEqual(["tunnel_lost"]);
    await lab.restore();
    await lab.provider.waitFor(({ openGenerations }) => openGenerations === 0);
  });

  test("ends when another registration takes the id", async () => {
    await using lab = await openLab();
    const stream = await lab.stream();
    await lab.lose();
    const { endpoint } = await lab.ada();
    const { participantToken } = await lab.hub.client.join(lab.code, {
      ...{ id: "ada", nickname: "Eve", model: "fake-model", endpoint, transport: "tunnel" },
    });
    expect(participantToken).toMatch(/^rhp_/);
    expect(await within(stream.text, "the stream")).toContain('"code":"tunnel_lost"');
    expect((await lab.ada()).connection).not.toHaveProperty("resuming");
    await settled(lab.events, 1);
    expect(ledgerProblems(lab.events)).toEqual([]);
  });

  test("ends at once with resumeMs 0", async () => {
    await using lab = await openLab({ resumeMs: 0 });
    const stream = await lab.stream();
    lab.network.close();
    expect(await within(stream.text, "the stream")).toContain('"code":"tunnel_lost"');
    await lab.provider.waitFor(({ openGenerations }) => openGenerations === 0);
    await until("the path to close", lab.ada, ({ connection }) => !connection.connected);
    const updates = lab.events.of("participant.updated");
    expect(updates.map(({ data }) => connectionOf(data["participant"]))).not.toContain("lost");
  });
});

describe("a request without a byte whose connection breaks", () => {
  /** At ada, while bob is free. */
  async function ask(lab: Awaited<ReturnType<typeof openLab>>, model: string) {
    const response = lab.hub.fetch(`/rooms/${lab.code}/v1/chat/completions`, {
      json: { ...chat, model },
    });
    await lab.provider.waitFor(({ openGenerations }) => openGenerations === 1);
    const other = await startFakeProvider();
    const bob = await joinTunnel(lab.hub, lab.code, { id: "bob", endpoint: other.url });
    return {
      response,
      async [Symbol.asyncDispose]() {
        await bob[Symbol.asyncDispose]();
        await other.close();
      },
    };
  }

  test("goes to another participant after 2 s; the agent that is back cancels its generation", async () => {
    await using lab = await openLab({}, {}, false);
    await using asked = await ask(lab, "fake-model");
    await lab.lose();
    await lab.time.advance(2_000);
    const response = await within(asked.response, "the response of bob");
    expect(response.headers.get("x-roomhub-participant")).toBe("bob");
    expect(await response.text()).toContain("[DONE]");
    await settled(lab.events, 1);
    expect(ledgerOf(lab.events)[0]?.ends[0]?.data).toMatchObject({ attempts: 2 });
    expect(lab.provider.openGenerations).toBe(1);
    await lab.restore();
    await lab.provider.waitFor(({ openGenerations }) => openGenerations === 0);
    expect(ledgerProblems(lab.events)).toEqual([]);
  });

  test("goes on where it was when the agent is back within 2 s", async () => {
    await using lab = await openLab({}, {}, false);
    await using asked = await ask(lab, "fake-model");
    await lab.lose();
    await lab.time.advance(1_500);
    await lab.restore();
    await lab.time.advance(5_000);
    expect([generations(lab), lab.provider.openGenerations]).toEqual([1, 1]);
    await lab.joined[Symbol.asyncDispose]();
    expect((await asked.response).status).toBe(200);
  });

  test("waits for the participant that it names", async () => {
    await using lab = await openLab({}, {}, false);
    await using asked = await ask(lab, "ada");
    await lab.lose();
    await lab.time.advance(20_000);
    await lab.time.advance(10_000);
    const response = await within(asked.response, "the failure");
    expect(await response.text()).toContain("tunnel_lost");
  });
});

test("a connection that breaks while nothing runs is not waited for", async () => {
  await using lab = await openLab();
  lab.network.close();
  await until("the path to close", lab.ada, ({ connection }) => !connection.connected);
  const { connection } = await lab.ada();
  expect(connection).toMatchObject({ path: "none", readiness: "down" });
  expect(connection).not.toHaveProperty("resuming");
});

test("a hub that stops waits for what waits for a lost connection", async () => {
  await using lab = await openLab({ drainMs: 10_000 });
  const stream = await lab.stream();
  await lab.lose();
  const closing = lab.hub.hub.close();
  await until(
    "the hub to drain",
    () => lab.hub.fetch("/health"),
    ({ status }) => status === 503,
  );
  lab.generate();
  lab.network.open();
  expect(await within(stream.text, "the stream")).toContain("[DONE]");
  expect(await within(closing, "the hub to close")).toEqual({ cut: 0 });
});

test("at another hub of a cluster the gap is shown too, and its client's stream goes on", async () => {
  const generation = createGate();
  const gate = { gate: generation.opened, gateAfterChunks: 2 };
  await using provider = await startFakeProvider({ behave: () => ({ kind: "normal", ...gate }) });
  await using cluster = await startCluster(1);
  const [entry] = cluster.hubs as [ClusterHub];
  await using network = await openTcpGate(() => owner.port);
  await using between = await openTcpGate(() => owner.port);
  const [advertiseUrl, linkUrl] = [network, between].map(({ port }) => `http://127.0.0.1:${port}`);
  const owner: ClusterHub = await cluster.add({ cluster: { advertiseUrl, linkUrl } });
  const code = await entry.createRoom();
  await cluster.linked();
  await using _ada = await joinTunnel({ url: String(advertiseUrl) }, code, {
    endpoint: provider.url,
  });
  const everywhere = (wanted: ReturnType<typeof connectionOf>) =>
    cluster.everywhere(
      `/rooms/${code}/participants`,
      ({ participants }: ParticipantList) =>
        participants.length === 1 && connectionOf(participants[0]) === wanted,
    );
  await everywhere("connected");
  const events = await entry.watch(code);
  const json = { ...chat, stream: true };
  const response = await entry.fetch(`/rooms/${code}/v1/chat/completions`, { json });
  network.close();
  await everywhere("lost");
  network.open();
  await everywhere("connected");
  generation.open();
  expect(await within(response.text(), "the stream")).toContain("[DONE]");
  const { data } = await events.next("llm.complete");
  expect(data["resumes"]).toBe(1);
});

interface ParticipantList {
  participants: object[];
}
