import type { RouteExplanation } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { joinTunnel } from "../support/hub/joining.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";
import { createGate } from "../support/waiting.ts";

test.each(["/rooms/", "/v1/rooms/"])(
  "%sCODE/route says what becomes of a request",
  async (family) => {
    const gate = createGate();
    await using provider = await startFakeProvider({
      behave: () => ({ kind: "normal", gate: gate.opened }),
    });
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    const config = { maxConcurrency: 1 };
    await using _ada = await joinTunnel(hub, code, { endpoint: provider.url, config });
    const explain = async (query: string) => {
      const response = await hub.fetch(`${family}${code.toLowerCase()}/route?${query}`);
      return (await response.json()) as RouteExplanation;
    };

    expect(await explain("model=fake-model")).toMatchObject({
      roomCode: code,
      readAs: "model",
      outcome: "asked",
      protocol: "chatCompletions",
      participants: [{ id: "ada", verdict: "asked", load: { active: 0, limit: 1 } }],
    });
    expect(await explain("model=nobody")).toMatchObject({
      outcome: "refused",
      refusal: { status: 404, code: "model_not_found" },
    });

    const asking = { json: { model: "*", messages: [{ role: "user", content: "hi" }] } };
    const first = hub.fetch(`/rooms/${code}/v1/chat/completions`, asking);
    await provider.waitFor(({ openGenerations }) => openGenerations === 1);
    expect(await explain("")).toMatchObject({
      model: "*",
      outcome: "waits",
      participants: [{ id: "ada", verdict: "full", load: { active: 1 } }],
      queue: { waiting: 0 },
    });
    gate.open();
    expect((await first).status).toBe(200);
  },
);

test("an unknown surface is refused by name, and an unknown room before that", async () => {
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  const surface = await hub.fetch(`/rooms/${code}/route?protocol=telnet`);
  expect(surface.status).toBe(400);
  expect(await surface.json()).toMatchObject({ error: { param: "protocol" } });
  expect((await hub.fetch("/rooms/QQQQQQ/route?protocol=telnet")).status).toBe(404);
});
