import { createParticipant } from "@roomhub/participant";
import { expect, test } from "vitest";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { joinTunnel } from "../support/hub/joining.ts";
import { userSays } from "../support/clients/openai-client.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";
import { createGate, until, within } from "../support/waiting.ts";

const json = { model: "*", messages: userSays("a b c d") };

test("a participant that is paused when it connects gets no request that waits", async () => {
  const gate = createGate();
  await using busy = await startFakeProvider({
    behave: () => ({ kind: "normal", gate: gate.opened }),
  });
  await using idle = await startFakeProvider();
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  const config = { maxConcurrency: 1 };
  await using _ada = await joinTunnel(hub, code, { id: "ada", endpoint: busy.url, config });
  const asking = [1, 2].map(() => hub.fetch(`/rooms/${code}/v1/chat/completions`, { json }));
  await until(
    "a request to wait",
    () => hub.client.listParticipants(code),
    (participants) => participants.some(({ load }) => load.queued === 1),
  );
  const events = await hub.watch(code);
  await using bob = createParticipant({
    hubUrl: hub.url,
    room: code,
    id: "bob",
    nickname: "Bob",
    model: "fake-model",
    endpoint: idle.url,
    timing: { drainMs: 0 },
    env: {},
  });
  bob.pause();
  await bob.start();
  const update = await events.next("participant.updated", ({ participant }) => {
    const { id, connection } = participant as { id: string; connection: { connected: boolean } };
    return id === "bob" && connection.connected;
  });
  expect(update.data).toMatchObject({
    participant: {
      status: "unavailable",
      connection: { problem: "Bob has paused sharing fake-model" },
    },
  });
  gate.open();
  for (const answer of await within(Promise.all(asking), "the responses")) {
    expect(answer.headers.get("x-roomhub-participant")).toBe("ada");
  }
});

test("a participant that pauses is unavailable by an update, never offline, and stays in the models list", async () => {
  await using provider = await startFakeProvider();
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  await using ada = await joinTunnel(hub, code, { endpoint: provider.url });
  const events = await hub.watch(code);
  const becomes = (wanted: string) =>
    events.next("participant.updated", ({ participant }) => {
      return (participant as { status: string }).status === wanted;
    });
  ada.agent.pause();
  await becomes("unavailable");
  const [listed] = await hub.client.listParticipants(code);
  expect(listed).toMatchObject({ status: "unavailable", connection: { connected: true } });
  const models = await hub.fetch(`/rooms/${code}/v1/models`);
  expect(await models.json()).toMatchObject({ data: [{ id: ada.id }] });
  const refused = await hub.fetch(`/rooms/${code}/v1/chat/completions`, { json });
  expect(await refused.json()).toMatchObject({
    error: {
      code: "participant_offline",
      message: `${ada.id} cannot be reached now: Ada has paused sharing fake-model.`,
    },
  });
  ada.agent.resume();
  await becomes("online");
  expect(events.of("participant.offline")).toEqual([]);
});
