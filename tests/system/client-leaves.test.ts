import { expect, test } from "vitest";
import { type Behaviour, startFakeProvider } from "../support/providers/fake-provider.ts";
import { join, joinDirect, PATHS } from "../support/hub/joining.ts";
import { ledgerProblems, settled } from "../support/hub/ledger.ts";
import { userSays } from "../support/clients/openai-client.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";
import { createGate, until } from "../support/waiting.ts";

const surfaces = {
  "chat/completions": { messages: userSays("one two three four") },
  responses: { input: "one two three four" },
};

const cases = Object.entries(surfaces).flatMap(([surface, body]) =>
  [true, false].flatMap((stream) => PATHS.map((path) => ({ surface, body, stream, path }))),
);

test.for(cases)(
  "a client that leaves $surface (stream: $stream, $path) ends the provider's work and is one error",
  async ({ surface, body, stream, path }) => {
    const behaviour: Behaviour = stream ? { kind: "hang-mid-stream" } : { kind: "hang" };
    await using provider = await startFakeProvider({ behave: () => behaviour });
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { endpoint: provider.url });
    const events = await hub.watch(code);
    const leaving = new AbortController();
    const asking = hub.fetch(`/rooms/${code}/v1/${surface}`, {
      json: { model: "*", stream, ...body },
      signal: leaving.signal,
    });
    await provider.waitFor(({ openGenerations }) => openGenerations === 1);
    if (stream) await (await asking).body?.getReader().read();
    leaving.abort();
    await asking.catch(() => undefined);

    await provider.waitFor(
      ({ openGenerations, aborted }) => openGenerations === 0 && aborted === 1,
    );
    const { data } = await events.next("llm.error");
    expect(data).toMatchObject({
      code: "client_disconnected",
      stage: "client",
      participantId: "ada",
    });
    const load = async () => (await hub.client.getParticipant(code, "ada")).load;
    await until("the load to be zero", load, ({ active, queued }) => active === 0 && queued === 0);
    expect(ledgerProblems(events)).toEqual([]);
  },
);

test("a client that leaves the queue never reaches the provider", async () => {
  const gate = createGate();
  await using provider = await startFakeProvider({
    behave: () => ({ kind: "normal", gate: gate.opened }),
  });
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  await joinDirect(hub, code, { endpoint: provider.url, config: { maxConcurrency: 1 } });
  const events = await hub.watch(code);
  const path = `/rooms/${code}/v1/chat/completions`;
  const json = { model: "*", messages: userSays("hello") };
  const first = hub.fetch(path, { json });
  await events.next("llm.request");
  const leaving = new AbortController();
  const second = hub.fetch(path, { json, signal: leaving.signal });
  const load = async () => (await hub.client.getParticipant(code, "ada")).load;
  await until("the second to wait", load, ({ queued }) => queued === 1);
  leaving.abort();
  await expect(second).rejects.toThrow("abort");
  const { data } = await events.next("llm.error");
  expect(data).toMatchObject({ code: "client_disconnected", participantId: null, attempts: 0 });
  await until("the queue to be empty", load, ({ queued }) => queued === 0);
  gate.open();
  expect((await first).status).toBe(200);
  await settled(events, 2);
  expect(provider.requests.filter(({ method }) => method === "POST")).toHaveLength(1);
  expect(ledgerProblems(events)).toEqual([]);
});
