import { describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { join, joinDirect, PATHS } from "../support/hub/joining.ts";
import { ledgerProblems } from "../support/hub/ledger.ts";
import { userSays } from "../support/clients/openai-client.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";
import { createGate, until, within } from "../support/waiting.ts";

const json = { model: "*", stream: true, messages: userSays("a b c d") };

/** A stream that runs and does not end before `gate` opens. */
async function startStream(hub: TestHub, code: string, surface = "chat/completions") {
  const body = surface === "responses" ? { model: "*", stream: true, input: "a b c d" } : json;
  const answer = await hub.fetch(`/rooms/${code}/v1/${surface}`, { json: body });
  expect(answer.status).toBe(200);
  return answer;
}

/** The hub reports this itself once it drains. */
async function untilDraining(hub: TestHub): Promise<Response> {
  return until(
    "the hub to drain",
    () => hub.fetch("/health"),
    ({ status }) => status === 503,
  );
}

describe.each(PATHS)("a hub that closes while a stream runs over %s", (path) => {
  test("lets it finish, accepts no new requests, and reports that it drains", async () => {
    const gate = createGate();
    await using provider = await startFakeProvider({
      behave: () => ({ kind: "normal", gate: gate.opened, gateAfterChunks: 3 }),
    });
    await using hub = await startTestHub({ limits: { drainMs: 10_000 } });
    const code = await hub.createRoom();
    const ada = await join(path, hub, code, { endpoint: provider.url });
    const events = await hub.watch(code);
    const running = await startStream(hub, code);
    const closing = hub.hub.close();

    const health = await untilDraining(hub);
    expect(await health.json()).toMatchObject({ status: "draining", version: expect.any(String) });
    const refused = await hub.fetch(`/rooms/${code}/v1/chat/completions`, { json });
    expect(refused.status).toBe(503);
    expect(refused.headers.get("retry-after")).toBe("2");
    expect(await refused.json()).toMatchObject({
      error: { code: "hub_draining", type: "server_error" },
    });

    gate.open();
    const text = await within(running.text(), "the running stream");
    expect(text).toContain('"content":" d"');
    expect(text.trimEnd().endsWith("data: [DONE]")).toBe(true);
    expect(text).not.toContain("error");
    expect(await within(closing, "the hub to close")).toEqual({ cut: 0 });
    await events.waitFor("the stream's end", ({ hasEnded }) => hasEnded);
    expect(events.of("llm.complete")).toHaveLength(1);
    expect(ledgerProblems(events)).toEqual([]);
    await expect(hub.fetch("/health")).rejects.toThrow("fetch failed");
    await ada[Symbol.asyncDispose]();
  });

  test.for(["chat/completions", "responses"])(
    "cuts %s after the limit with a frame that says why",
    async (surface) => {
      await using provider = await startFakeProvider({
        behave: () => ({ kind: "hang-mid-stream", afterChunks: 4 }),
      });
      await using hub = await startTestHub({ limits: { drainMs: 100 } });
      const code = await hub.createRoom();
      const ada = await join(path, hub, code, { endpoint: provider.url });
      const events = await hub.watch(code);
      const running = await startStream(hub, code, surface);
      await provider.waitFor(({ requests }) => requests.some(({ chunksSent }) => chunksSent === 4));
      const text = running.text();
      expect(await within(hub.hub.close(), "the hub to close")).toEqual({ cut: 1 });
      expect(await text).toContain('"code":"hub_shutting_down"');
      expect((await text).trimEnd().endsWith("data: [DONE]")).toBe(true);
      await provider.waitFor(
        ({ openGenerations, aborted }) => openGenerations === 0 && aborted === 1,
      );
      expect((await events.next("llm.error")).data).toMatchObject({
        code: "hub_shutting_down",
        stage: "hub",
      });
      expect(ledgerProblems(events)).toEqual([]);
      await ada[Symbol.asyncDispose]();
    },
  );
});

test("a request without a response head gets 503 with retry-after", async () => {
  await using provider = await startFakeProvider({ behave: () => ({ kind: "hang" }) });
  await using hub = await startTestHub({ limits: { drainMs: 50 } });
  const code = await hub.createRoom();
  await joinDirect(hub, code, { endpoint: provider.url });
  const asking = hub.fetch(`/rooms/${code}/v1/chat/completions`, {
    json: { ...json, stream: false },
  });
  await provider.waitFor(({ openGenerations }) => openGenerations === 1);
  await hub.hub.close();
  const answer = await asking;
  expect(answer.status).toBe(503);
  expect(answer.headers.get("retry-after")).toMatch(/^\d+$/);
  expect(await answer.json()).toMatchObject({ error: { code: "hub_shutting_down" } });
});

test("a watcher gets a reconnect delay, and then its stream ends", async () => {
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  const streams = [
    await hub.watch(code, "colon"),
    await hub.watch(code),
    await hub.watch(undefined),
  ];
  await hub.hub.close();
  for (const stream of streams) {
    await stream.waitFor("the end", ({ hasEnded }) => hasEnded);
    expect(stream.text.trimEnd()).toMatch(/\nretry: \d+$/);
    expect(stream.retryMs).toBeGreaterThanOrEqual(1_000);
    expect(stream.retryMs).toBeLessThan(5_000);
  }
});

test("tunnels get GOAWAY, and are closed as going away", async () => {
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  const { answer } = await joinDirect(hub, code, { endpoint: "http://127.0.0.1:9/v1" });
  const socket = new WebSocket(answer.tunnel.url, "roomhub.tunnel.v1", {
    headers: { authorization: `Bearer ${answer.participantToken}` },
  });
  await within(new Promise((resolve) => socket.on("open", resolve)), "the tunnel");
  const closed = new Promise<number>((resolve) => socket.on("close", resolve));
  await hub.hub.close();
  expect(await within(closed, "the tunnel's end")).toBe(1001);
});

test("closing twice is closing once", async () => {
  await using hub = await startTestHub();
  expect(await Promise.all([hub.hub.close(), hub.hub.close()])).toEqual([{ cut: 0 }, { cut: 0 }]);
});
