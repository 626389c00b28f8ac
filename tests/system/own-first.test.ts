import { createParticipant } from "@roomhub/participant";
import { describe, expect, test } from "vitest";
import { joinDirect } from "../support/hub/joining.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";

/**
 * Sends requests for one slot, one after the other, and lets the first go when all are there.
 *
 * @returns the names of those that started, in order
 */
async function startedInOrder(
  hub: TestHub,
  code: string,
  open: () => void,
  requests: Record<string, HeadersInit>,
): Promise<string[]> {
  const events = await hub.watch(code);
  const responses: Promise<unknown>[] = [];
  for (const [user, headers] of Object.entries(requests)) {
    const json = { model: "*", messages: [], user };
    responses.push(
      hub
        .fetch(`/v1/rooms/${code}/chat/completions`, { json, headers })
        .then((response) => response.text()),
    );
    await expect.poll(() => waitingOrRunning(hub, code)).toBe(responses.length);
  }
  open();
  await Promise.all(responses);
  await events.waitFor("every end", () => events.of("llm.complete").length === responses.length);
  return events.of("llm.request").map(({ data }) => {
    return (data["client"] as { user?: string }).user ?? "";
  });
}

async function waitingOrRunning(hub: TestHub, code: string): Promise<number> {
  const [one] = await hub.client.listParticipants(code);
  return (one?.load.active ?? 0) + (one?.load.queued ?? 0);
}

const forwarded = { "x-forwarded-for": "203.0.113.9" };

/** A provider whose responses wait until they are let go. */
async function startHeldProvider() {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  const provider = await startFakeProvider({ behave: () => ({ kind: "normal", gate }) });
  return { provider, open };
}

const config = { maxConcurrency: 1 };

describe("a participant that serves its owner first", () => {
  test("starts requests with its client key before others that wait, at most every second", async () => {
    const { provider: held, open } = await startHeldProvider();
    await using provider = held;
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    const { answer } = await joinDirect(hub, code, {
      ...{ endpoint: provider.url, ownFirst: true, config },
    });
    const own = { ...forwarded, authorization: `Bearer ${answer.clientKey}` };
    const order = await startedInOrder(hub, code, open, {
      running: forwarded,
      ...{ other1: forwarded, other2: forwarded },
      ...{ own1: own, own2: { ...forwarded, "x-api-key": answer.clientKey ?? "" } },
    });
    expect(order).toEqual(["running", "own1", "other1", "own2", "other2"]);
  });

  test("starts requests from the address of its tunnel first, and none that a proxy forwards", async () => {
    const { provider: held, open } = await startHeldProvider();
    await using provider = held;
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using ana = createParticipant({
      ...{ hubUrl: hub.url, room: code, id: "ana", nickname: "Ana", model: "fake-model" },
      ...{ endpoint: provider.url, ownFirst: true, config, env: {}, timing: { drainMs: 0 } },
    });
    await ana.start();
    const order = await startedInOrder(hub, code, open, {
      running: forwarded,
      ...{ other1: forwarded, other2: forwarded, own1: {} },
    });
    expect(order).toEqual(["running", "own1", "other1", "other2"]);
  });
});

test("a participant that does not ask for it gets no client key, and its address is like any other", async () => {
  const { provider: held, open } = await startHeldProvider();
  await using provider = held;
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  const { answer } = await joinDirect(hub, code, { endpoint: provider.url, config });
  expect(answer.clientKey).toBeUndefined();
  const order = await startedInOrder(hub, code, open, { running: {}, other: forwarded, own: {} });
  expect(order).toEqual(["running", "other", "own"]);
});
