import { describe, expect, test } from "vitest";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { join, joinDirect, joinTunnel, PATHS } from "../support/hub/joining.ts";
import { ledgerOf, ledgerProblems, settled } from "../support/hub/ledger.ts";
import { createManualTime, QUICK_SWEEP } from "../support/hub/manual-time.ts";
import { userSays } from "../support/clients/openai-client.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";

/** Sends one request. @returns the participant that served it, or the error's code */
async function whoServes(hub: TestHub, code: string, model: string): Promise<string> {
  const answer = await hub.fetch(`/v1/rooms/${code}/chat/completions`, {
    json: { model, messages: userSays("hello") },
  });
  const body = (await answer.json()) as { error?: { code: string } };
  return answer.headers.get("x-roomhub-participant") ?? body.error?.code ?? String(answer.status);
}

/** Three models behind one provider, joined in this order. */
async function joinThree(hub: TestHub, code: string, endpoint: string): Promise<void> {
  for (const [id, model] of [
    ["ada", "llama3:latest"],
    ["alan", "qwen/qwen3"],
    ["grace", "qwen/qwen3"],
  ] as const) {
    await joinDirect(hub, code, { id, nickname: id, model, endpoint });
  }
}

test.for([
  ["ada", "ada"],
  ["grace", "grace"],
  ["model:qwen/qwen3", "alan"],
  ["qwen/qwen3", "alan"],
  ["llama3", "ada"],
  ["llama3:latest", "ada"],
  ["model:llama3", "ada"],
  ["model:grace", "model_not_found"],
  ["Ada", "model_not_found"],
  ["model:", "model_not_found"],
  ["nobody", "model_not_found"],
])("the selector %s is served by %s", async ([selector, expected]) => {
  await using provider = await startFakeProvider();
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  await joinThree(hub, code, provider.url);
  expect(await whoServes(hub, code, selector!)).toBe(expected);
});

test.for(["*", "any"])("%s reaches every participant within 60 requests", async (selector) => {
  await using provider = await startFakeProvider();
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  await joinThree(hub, code, provider.url);
  const served = await Promise.all(
    Array.from({ length: 60 }, () => whoServes(hub, code, selector)),
  );
  expect([...new Set(served)].sort()).toEqual(["ada", "alan", "grace"]);
});

test.for(PATHS)("a stand-in serves * over %s only while no other participant can", async (path) => {
  await using provider = await startFakeProvider();
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  const { url: endpoint } = provider;
  await using _demo = await join(path, hub, code, {
    ...{ id: "demo", model: "demo", endpoint, standIn: true },
  });
  const served = () => Promise.all(Array.from({ length: 20 }, () => whoServes(hub, code, "*")));
  const listed = async () => (await hub.client.listModels(code)).map(({ id }) => id);
  expect(new Set(await served())).toEqual(new Set(["demo"]));
  {
    await using _real = await join(path, hub, code, { id: "real", endpoint });
    expect(new Set(await served())).toEqual(new Set(["real"]));
    expect(await listed()).toEqual(["real", "demo"]);
    expect(await whoServes(hub, code, "demo")).toBe("demo");
    if (path === "direct") await hub.client.leave(code, "real");
  }
  expect(new Set(await served())).toEqual(new Set(["demo"]));
  expect((await hub.client.getParticipant(code, "demo")).standIn).toBe(true);
});

describe("an id that is also another's model", () => {
  const shared = { id: "twin", nickname: "Twin", model: "other" };
  const named = { id: "ada", nickname: "Ada", model: "twin" };

  test.for([
    ["first", [shared, named]],
    ["last", [named, shared]],
  ] as const)("wins when it joined %s", async ([, joiners]) => {
    await using provider = await startFakeProvider();
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    for (const who of joiners) await joinDirect(hub, code, { ...who, endpoint: provider.url });
    expect(await whoServes(hub, code, "twin")).toBe("twin");
    expect(await whoServes(hub, code, "model:twin")).toBe("ada");
  });

  test("gives way to the model while it is offline", async () => {
    const time = createManualTime();
    await using provider = await startFakeProvider();
    await using hub = await startTestHub({ world: time.world, limits: QUICK_SWEEP });
    const code = await hub.createRoom();
    for (const who of [shared, named]) {
      await joinDirect(hub, code, { ...who, endpoint: provider.url });
    }
    const events = await hub.watch(code);
    await time.advance(20_000);
    await hub.client.heartbeat(code, "ada");
    await time.advance(11_000);
    await events.next("participant.offline", ({ participantId }) => participantId === "twin");
    expect(await whoServes(hub, code, "twin")).toBe("ada");
    await hub.client.leave(code, "ada");
    expect(await whoServes(hub, code, "twin")).toBe("participant_offline");
  });
});

describe.each(PATHS)("20 requests at once over %s", (path) => {
  const ask = async (hub: TestHub, code: string, index: number) => {
    const answer = await hub.fetch(`/rooms/${code}/v1/chat/completions`, {
      json: { model: "ada", messages: userSays(`number ${index}`) },
    });
    const body = (await answer.json()) as { choices: { message: { content: string } }[] };
    return {
      text: body.choices[0]?.message.content,
      queueMs: Number(answer.headers.get("x-roomhub-queue-ms")),
    };
  };

  test("get the 20 responses that belong to them", async () => {
    await using provider = await startFakeProvider();
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { endpoint: provider.url });
    const events = await hub.watch(code);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => ask(hub, code, index)),
    );
    expect(answers.map(({ text }) => text)).toEqual(answers.map((_, index) => `number ${index}`));
    await settled(events, 20);
    expect(ledgerProblems(events)).toEqual([]);
  });

  test("wait for each other at a participant that takes one at a time", async () => {
    let atOnce = 0;
    await using provider = await startFakeProvider({
      behave: () => {
        atOnce = Math.max(atOnce, provider.openGenerations);
        return { kind: "slow-head", delayMs: 5 };
      },
    });
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    const config = { maxConcurrency: 1 };
    await using _ada = await join(path, hub, code, { endpoint: provider.url, config });
    const events = await hub.watch(code);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => ask(hub, code, index)),
    );
    expect(answers.map(({ text }) => text)).toEqual(answers.map((_, index) => `number ${index}`));
    expect(atOnce).toBe(1);
    await settled(events, 20);
    expect(ledgerProblems(events)).toEqual([]);

    // The last of them waited for nineteen others, and the events report the same as the headers.
    const waits = answers.map(({ queueMs }) => queueMs).sort((one, other) => one - other);
    expect(waits[0]).toBe(0);
    expect(waits.at(-1)).toBeGreaterThanOrEqual(19 * 5 - 1);
    expect(new Set(waits).size).toBeGreaterThan(5);
    const told = ledgerOf(events).map(({ ends }) => Math.round(Number(ends[0]?.data["queueMs"])));
    expect(told.sort((one, other) => one - other)).toEqual(waits);
  });
});

test("an id is served by its current participant, over either path", async () => {
  await using provider = await startFakeProvider();
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  await joinDirect(hub, code, { endpoint: provider.url });
  expect(await whoServes(hub, code, "ada")).toBe("ada");
  await using ada = await joinTunnel(hub, code, { endpoint: provider.url });
  expect((await hub.client.getParticipant(code, "ada")).connection.path).toBe("tunnel");
  expect(await whoServes(hub, code, "ada")).toBe("ada");
  await ada.agent.close();
  expect(await whoServes(hub, code, "ada")).toBe("model_not_found");
});
