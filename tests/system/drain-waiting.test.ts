import { expect, test } from "vitest";
import { type Behaviour, startFakeProvider } from "../support/providers/fake-provider.ts";
import { joinTunnel } from "../support/hub/joining.ts";
import { ledgerProblems } from "../support/hub/ledger.ts";
import { userSays } from "../support/clients/openai-client.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";
import { createGate, until, within } from "../support/waiting.ts";

const config = { maxConcurrency: 1 };
const json = { model: "*", messages: userSays("a b c d") };

function ask(hub: TestHub, code: string): Promise<Response> {
  return hub.fetch(`/rooms/${code}/v1/chat/completions`, { json });
}

/** A provider whose first generation waits for the gate, and then continues as scripted. */
async function startGatedProvider(first: Behaviour) {
  const gate = createGate();
  let generations = 0;
  const provider = await startFakeProvider({
    behave: () => (++generations === 1 ? { ...first, gate: gate.opened } : { kind: "normal" }),
  });
  return { gate, provider };
}

async function untilDraining(hub: TestHub): Promise<void> {
  await until(
    "the hub to drain",
    () => hub.fetch("/health"),
    ({ status }) => status === 503,
  );
}

async function untilWaiting(hub: TestHub, code: string): Promise<void> {
  await until(
    "a request to wait",
    () => hub.client.listParticipants(code),
    (participants) => participants.some(({ load }) => load.queued === 1),
  );
}

test("a request that waits when the hub stops gets its turn within the drain limit", async () => {
  const { gate, provider } = await startGatedProvider({ kind: "normal" });
  await using hub = await startTestHub({ limits: { drainMs: 10_000 } });
  const code = await hub.createRoom();
  const events = await hub.watch(code);
  await using _ada = await joinTunnel(hub, code, { endpoint: provider.url, config });
  const first = ask(hub, code);
  await provider.waitFor(({ openGenerations }) => openGenerations === 1);
  const second = ask(hub, code);
  await untilWaiting(hub, code);
  const closing = hub.hub.close();
  await untilDraining(hub);
  gate.open();
  expect((await within(first, "the first response")).status).toBe(200);
  expect((await within(second, "the second response")).status).toBe(200);
  expect(await within(closing, "the hub to close")).toEqual({ cut: 0 });
  expect(ledgerProblems(events)).toEqual([]);
  await provider[Symbol.asyncDispose]();
});

test("a request whose provider fails while the hub drains is tried elsewhere", async () => {
  const { gate, provider } = await startGatedProvider({ kind: "status", status: 503 });
  await using hub = await startTestHub({ limits: { drainMs: 10_000 } });
  const code = await hub.createRoom();
  await using _ada = await joinTunnel(hub, code, { id: "ada", endpoint: provider.url });
  await using _bob = await joinTunnel(hub, code, { id: "bob", endpoint: provider.url });
  const asking = ask(hub, code);
  await provider.waitFor(({ openGenerations }) => openGenerations === 1);
  const closing = hub.hub.close();
  await untilDraining(hub);
  gate.open();
  expect((await within(asking, "the response")).status).toBe(200);
  expect(await within(closing, "the hub to close")).toEqual({ cut: 0 });
  await provider[Symbol.asyncDispose]();
});

test("what still waits at the end of the drain limit gets the error of a stopping hub", async () => {
  const { gate, provider } = await startGatedProvider({ kind: "normal" });
  await using hub = await startTestHub({ limits: { drainMs: 100 } });
  const code = await hub.createRoom();
  await using _ada = await joinTunnel(hub, code, { endpoint: provider.url, config });
  const first = ask(hub, code);
  await provider.waitFor(({ openGenerations }) => openGenerations === 1);
  const second = ask(hub, code);
  await untilWaiting(hub, code);
  expect(await within(hub.hub.close(), "the hub to close")).toEqual({ cut: 2 });
  for (const answer of [await first, await second]) {
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({ error: { code: "hub_shutting_down" } });
  }
  gate.open();
  await provider[Symbol.asyncDispose]();
});
