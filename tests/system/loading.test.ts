import type { Connection } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { userSays } from "../support/clients/openai-client.ts";
import { joinTunnel } from "../support/hub/joining.ts";
import { createManualTime, QUICK_SWEEP } from "../support/hub/manual-time.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";
import { startMoodyProvider } from "../support/providers/moody-provider.ts";
import { until } from "../support/waiting.ts";

/** A room on a clock of its own, whose only model server is ready or loads its model. */
async function openLab() {
  const time = createManualTime();
  const provider = await startMoodyProvider();
  const hub = await startTestHub({ world: time.world, limits: QUICK_SWEEP });
  const code = await hub.createRoom();
  const ada = await joinTunnel(hub, code, {
    endpoint: provider.url,
    timing: { providerCheckMs: 20, providerRecheckMs: 20 },
  });
  const connection = async () => (await hub.client.getParticipant(code, "ada")).connection;
  const becomes = async (readiness: Connection["readiness"]) => {
    provider.list = readiness === "loading" ? 503 : 200;
    return until(readiness, connection, (now) => now.readiness === readiness);
  };
  await becomes("ready");
  return {
    ...{ time, hub, code, becomes, connection },
    ask: (stream: boolean) =>
      hub.fetch(`/rooms/${code}/v1/chat/completions`, {
        json: { model: "fake-model", stream, messages: userSays("hello") },
      }),
    /** Resolves when so many requests wait. */
    waiting: (count: number) =>
      until(
        "the requests to wait",
        () => hub.client.listRequests(code),
        (requests) => requests.length === count,
      ),
    async [Symbol.asyncDispose]() {
      await ada[Symbol.asyncDispose]();
      await hub[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

test("a model server that loads is listed with how long it has taken, and how long it took before", async () => {
  await using lab = await openLab();
  expect(await lab.connection()).not.toHaveProperty("loading");
  expect((await lab.becomes("loading")).loading).toEqual({ sinceMs: 0 });
  await lab.time.advance(8_000);
  expect((await lab.connection()).loading).toEqual({ sinceMs: 8_000 });
  expect(await lab.becomes("ready")).not.toHaveProperty("loading");
  expect((await lab.becomes("loading")).loading).toEqual({ sinceMs: 0, expectedMs: 8_000 });
  const route = await lab.hub.client.explainRoute(lab.code, { model: "fake-model" });
  expect(route.participants[0]?.connection.loading).toMatchObject({ expectedMs: 8_000 });
});

test("a stream that waits for it gets a comment after 5 s, and its response once it is ready; a request without stream gets no byte before", async () => {
  await using lab = await openLab();
  await lab.becomes("loading");
  await lab.time.advance(8_000);
  await lab.becomes("ready");
  await lab.becomes("loading");
  const whole = lab.ask(false);
  let isBegun = false;
  void whole.then(
    () => (isBegun = true),
    () => undefined,
  );
  const stream = lab.ask(true);
  await lab.waiting(2);
  await lab.time.advance(6_000);
  const { status, body } = await stream;
  expect(status).toBe(200);
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  const { value } = (await reader?.read()) ?? {};
  expect(value).toMatch(/^: ada loads fake-model, for \d s so far, 8 s before\n\n$/);
  expect(isBegun).toBe(false);
  await lab.becomes("ready");
  let text = "";
  for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) {
    text += part.value;
  }
  expect(text).toContain("hello");
  expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
  expect(await (await whole).json()).toMatchObject({
    choices: [{ message: { content: "hello" } }],
  });
});
