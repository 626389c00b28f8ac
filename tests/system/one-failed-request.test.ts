import { systemWorld } from "@roomhub/protocol";
import { describe, expect, test } from "vitest";
import { userSays } from "../support/clients/openai-client.ts";
import { join, joinDirect, joinTunnel, PATHS } from "../support/hub/joining.ts";
import { createManualTime, QUICK_SWEEP } from "../support/hub/manual-time.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";
import { startRoutedProvider } from "../support/providers/routed-provider.ts";
import { until } from "../support/waiting.ts";

/** A model server that fails the prompts that say so, such as `401 please`. */
function startProvider() {
  const message = { role: "assistant", content: "hello" };
  const choices = [{ index: 0, message, finish_reason: "stop" }];
  return startRoutedProvider({
    "POST /chat/completions": ({ body }) => {
      const status = Number(/"(\d{3}) please"/.exec(body)?.[1] ?? 200);
      if (status === 200) return { json: { id: "c", object: "chat.completion", choices } };
      const headers: Record<string, string> = status === 503 ? { "retry-after": "3" } : {};
      return { status, headers, json: { error: { message: "scripted", type: "t" } } };
    },
  });
}

async function ask(hub: TestHub, code: string, client: string, prompt = "hello", model = "*") {
  const response = await hub.fetch(`/rooms/${code}/v1/chat/completions`, {
    headers: { authorization: `Bearer as-${client}` },
    json: { model, messages: userSays(prompt) },
  });
  await response.text();
  return response;
}

async function statuses(hub: TestHub, code: string, client: string, prompts: readonly string[]) {
  const found: number[] = [];
  for (const prompt of prompts) found.push((await ask(hub, code, client, prompt)).status);
  return found;
}

describe.each(PATHS)("over %s", (path) => {
  test("one of two clients gets a 401 among its 200s, and the other is never refused", async () => {
    await using provider = await startProvider();
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { model: "m", endpoint: provider.url });
    expect(await statuses(hub, code, "ann", ["hello"])).toEqual([200]);
    expect(await statuses(hub, code, "ann", ["401 please"])).toEqual([502]);
    const hellos = Array.from({ length: 6 }, () => "hello");
    const both = ["bob", "ann"].map((client) => statuses(hub, code, client, hellos));
    const served = hellos.map(() => 200);
    expect(await Promise.all(both)).toEqual([served, served]);
  });

  test("one of two clients gets a 503 with its retry-after, and the other waits no longer than that says", async () => {
    const time = createManualTime(250);
    await using provider = await startProvider();
    await using hub = await startTestHub({ world: time.world, limits: QUICK_SWEEP });
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { model: "m", endpoint: provider.url });
    const refused = await ask(hub, code, "ann", "503 please");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "3"]);
    const waiting = ["*", "ada", "m"].map((model) => ask(hub, code, "bob", "hello", model));
    await until(
      "bob's requests to wait",
      async () => (await hub.client.getParticipant(code, "ada")).load.queued,
      (queued) => queued === 3,
    );
    await time.advance(3_000);
    for (const response of await Promise.all(waiting)) {
      expect(response.status).toBe(200);
      expect(Number(response.headers.get("x-roomhub-queue-ms"))).toBeLessThanOrEqual(3_250);
    }
  });

  test.each([
    [["ann", "bob", "ann"], "needs-credentials"],
    [["ann", "ann", "ann", "ann"], "ready"],
  ])("after a 401 for each of %j, 5 s apart, the participant is %s", async (clients, readiness) => {
    const time = createManualTime(250);
    let agentMs = 0;
    await using provider = await startProvider();
    await using hub = await startTestHub({ world: time.world, limits: QUICK_SWEEP });
    const code = await hub.createRoom();
    const wishes = { model: "m", endpoint: provider.url };
    await using _ada =
      path === "direct"
        ? await joinDirect(hub, code, wishes)
        : await joinTunnel(hub, code, {
            ...wishes,
            world: { ...systemWorld, monotonicMs: () => agentMs },
          });
    expect(await statuses(hub, code, "ann", ["hello"])).toEqual([200]);
    for (const client of clients) {
      expect(await statuses(hub, code, client, ["401 please"])).toEqual([502]);
      agentMs += 5_000;
      await time.advance(5_000);
    }
    const { connection } = await hub.client.getParticipant(code, "ada");
    expect(connection.readiness).toBe(readiness);
  });
});
