import { expect, test } from "vitest";
import { joinTunnel } from "../support/hub/joining.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";
import { openTcpGate } from "../support/programs/tcp-gate.ts";
import { startParticipantProcess } from "../support/programs/roomhub-process.ts";
import { temporaryFolder } from "../support/programs/temporary-folder.ts";
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

test("a request that waits for a participant stays when its idle tunnel breaks, until it is back", async () => {
  const released = Promise.withResolvers<void>();
  await using provider = await startFakeProvider({
    behave: ({ path }) =>
      path.includes("completions") ? { kind: "normal", gate: released.promise } : undefined,
  });
  await using hub = await startTestHub({ limits: { assumedConcurrency: 1 } });
  const code = await hub.createRoom();
  await using network = await openTcpGate(hub.port);
  const wishes = { endpoint: provider.url, machineSecret: "a".repeat(43) };
  await using _ada = await joinTunnel(hub, code, { ...wishes, id: "ada" });
  const url = `http://127.0.0.1:${network.port}`;
  await using _ben = await joinTunnel({ url }, code, { ...wishes, id: "ben" });
  const ask = (model: string) =>
    hub.fetch(`/rooms/${code}/v1/chat/completions`, {
      json: { model, messages: [{ role: "user", content: "hi" }] },
    });
  const ben = () => hub.client.getParticipant(code, "ben");
  const running = ask("ada");
  await expect.poll(async () => (await ben()).load.machine?.active).toBe(1);
  const waiting = ask("ben");
  await expect.poll(async () => (await ben()).load.queued).toBe(1);
  network.close();
  await expect.poll(async () => (await ben()).connection.connected).toBe(false);
  network.open();
  released.resolve();
  expect((await running).status).toBe(200);
  expect((await waiting).status).toBe(200);
});

test("agents of one user that start at the same time have an id each, and a restart keeps its own", async () => {
  await using provider = await startFakeProvider();
  await using folder = await temporaryFolder();
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  const env = { XDG_STATE_HOME: folder.path };
  const args = ["--yes", "--nickname", "Ada", "--model", "fake-model", "--endpoint", provider.url];
  const start = () => startParticipantProcess(hub.url, code, args, env);
  const ids = async () => {
    const listed = await hub.client.listParticipants(code);
    return listed.flatMap(({ id, connection }) => (connection.connected ? [id] : [])).sort();
  };
  await using agents = new AsyncDisposableStack();
  const [one, two, three] = await Promise.all([start(), start(), start()]);
  for (const agent of [one, two, three]) agents.use(agent);
  const before = await ids();
  expect(before).toHaveLength(3);
  expect(before).toContain("ada-fake-model");

  await two.kill("SIGKILL");
  await expect.poll(ids).toHaveLength(2);
  agents.use(await start());
  expect(await ids()).toEqual(before);
  expect([one, three].map(({ output }) => output).join()).not.toContain("took over");
});
