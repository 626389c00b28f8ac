import { expect, test } from "vitest";
import { joinTunnel } from "../support/hub/joining.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";

test("six agents with one slot each run four streams of one model server at the same time", async () => {
  let running = 0;
  const released = Promise.withResolvers<void>();
  await using provider = await startFakeProvider({
    behave: ({ path }) => {
      if (!path.includes("completions")) return undefined;
      running++;
      return { kind: "normal", gate: released.promise };
    },
  });
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  await using agents = new AsyncDisposableStack();
  for (let index = 1; index <= 6; index++) {
    const wishes = {
      ...{ id: `ana-${index}`, endpoint: provider.url, machineSecret: "a".repeat(43) },
      config: { maxConcurrency: 1 },
    };
    agents.use(await joinTunnel(hub, code, wishes));
  }
  const listed = await hub.client.listParticipants(code);
  expect(new Set(listed.map(({ agentId }) => agentId)).size).toBe(6);
  expect(listed[0]?.load).toMatchObject({ limit: 1, machine: { limit: 6, participants: 6 } });
  const body = { model: "fake-model", stream: true, messages: [{ role: "user", content: "hi" }] };
  const streams = Array.from({ length: 4 }, () =>
    hub.fetch(`/rooms/${code}/v1/chat/completions`, { json: body }).then((each) => each.text()),
  );
  await expect.poll(() => running).toBe(4);
  released.resolve();
  for (const text of await Promise.all(streams)) expect(text).toContain("[DONE]");
});
