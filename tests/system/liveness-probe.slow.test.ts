import { describe, expect, test } from "vitest";
import { joinDirect, joinTunnel } from "../support/hub/joining.ts";
import { createManualTime, QUICK_SWEEP } from "../support/hub/manual-time.ts";
import { startMoodyProvider, type MoodyProvider } from "../support/providers/moody-provider.ts";
import { userSays } from "../support/clients/openai-client.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";
import { until } from "../support/waiting.ts";

const probe = { liveness: "probe" } as const;

/** A hub with a manual clock, and one room. */
async function openLab(limits: Record<string, number> = {}) {
  // Finding out what a new endpoint can do reads the clock too: in large steps that looks like a suspended hub.
  const time = createManualTime(250);
  const hub = await startTestHub({ world: time.world, limits: { ...QUICK_SWEEP, ...limits } });
  const code = await hub.createRoom();
  const ada = () => hub.client.getParticipant(code, "ada");
  return {
    ...{ hub, code, time, ada },
    /** Lets 10 s pass, in which each endpoint has one probe, and waits for the responses. */
    async passProbe(provider: MoodyProvider): Promise<void> {
      const before = provider.listCount;
      await time.advance(10_000);
      await until(
        "a probe",
        () => provider.listCount,
        (count) => count > before,
      );
      // The response was sent; three requests later the hub has received it.
      for (let turn = 0; turn < 3; turn++) await hub.client.health();
    },
    [Symbol.asyncDispose]: () => hub[Symbol.asyncDispose](),
  };
}

const ask = (hub: TestHub, code: string) =>
  hub.fetch(`/rooms/${code}/v1/chat/completions`, {
    json: { model: "*", messages: userSays("hello") },
  });

describe("one request that joins with liveness probe", () => {
  test("makes a participant that stays online and serves, without a heartbeat", async () => {
    await using provider = await startMoodyProvider();
    await using lab = await openLab();
    const { hub, code } = lab;
    const answer = await hub.fetch(`/rooms/${code}/join`, {
      json: { id: "ada", nickname: "Ada", model: "fake-model", endpoint: provider.url, ...probe },
    });
    expect(answer.status).toBe(201);
    const events = await hub.watch(code);
    for (let count = 0; count < 9; count++) await lab.passProbe(provider);
    expect(await lab.ada()).toMatchObject({ status: "online", liveness: "probe" });
    expect((await ask(hub, code)).status).toBe(200);
    expect(events.of("participant.offline")).toEqual([]);
  });

  test("is offline after 30 s without a response, and back with the next", async () => {
    await using provider = await startMoodyProvider();
    await using lab = await openLab();
    await joinDirect(lab.hub, lab.code, { endpoint: provider.url, ...probe });
    const events = await lab.hub.watch(lab.code);
    provider.list = 500;
    await lab.passProbe(provider);
    await lab.passProbe(provider);
    expect((await lab.ada()).status).toBe("online");
    await lab.time.advance(11_000);
    expect((await lab.ada()).status).toBe("offline");
    provider.list = 200;
    await until(
      "ada to be back",
      async () => {
        await lab.time.advance(1_000);
        return (await lab.ada()).status;
      },
      (status) => status === "online",
    );
    expect(events.of("participant.offline")).toHaveLength(1);
  });

  test("is kept online by a missing model list only after a call had a 2xx response", async () => {
    await using provider = await startMoodyProvider({ list: 404 });
    await using lab = await openLab();
    const { hub, code } = lab;
    await joinDirect(hub, code, { endpoint: provider.url, ...probe });
    await lab.passProbe(provider);
    expect((await lab.ada()).lastSeen).toBe((await lab.ada()).joinedAt);
    expect((await ask(hub, code)).status).toBe(200);
    for (let count = 0; count < 5; count++) await lab.passProbe(provider);
    expect((await lab.ada()).status).toBe("online");
  });

  test("is not kept online by responses that refuse its key", async () => {
    await using provider = await startMoodyProvider({ list: 401 });
    await using lab = await openLab();
    await joinDirect(lab.hub, lab.code, { endpoint: provider.url, ...probe });
    await lab.passProbe(provider);
    await lab.passProbe(provider);
    await lab.time.advance(11_000);
    expect((await lab.ada()).status).toBe("offline");
  });

  test("is removed when it was not used for the time after which participants expire", async () => {
    await using provider = await startMoodyProvider();
    await using lab = await openLab({ participantExpiryMs: 100_000 });
    const { hub, code } = lab;
    await joinDirect(hub, code, { endpoint: provider.url, ...probe });
    const events = await hub.watch(code);
    for (let count = 0; count < 9; count++) await lab.passProbe(provider);
    expect((await ask(hub, code)).status).toBe(200);
    for (let count = 0; count < 9; count++) await lab.passProbe(provider);
    expect(await hub.client.listParticipants(code)).toHaveLength(1);
    // Checked once a minute.
    await lab.passProbe(provider);
    await lab.time.advance(61_000);
    const { data } = await events.next("participant.left");
    expect(data).toMatchObject({ participantId: "ada", reason: "expired" });
  });

  test("shares one probe with all others at the same endpoint, whichever room they are in", async () => {
    await using provider = await startMoodyProvider();
    await using lab = await openLab();
    const { hub, code } = lab;
    const other = await hub.createRoom();
    for (const id of ["ada", "bob", "cy"]) {
      await joinDirect(hub, code, { id, endpoint: provider.url, ...probe });
      await joinDirect(hub, other, { id, endpoint: provider.url, ...probe });
    }
    const keyed = { id: "keyed", authHeaders: { authorization: "Bearer k" } };
    await joinDirect(hub, code, { endpoint: provider.url, ...keyed, ...probe });
    const atJoin = provider.listCount;
    for (let count = 0; count < 5; count++) await lab.passProbe(provider);
    await until(
      "two probes each time",
      () => provider.listCount - atJoin,
      (count) => count === 5 * 2,
    );
    const everybody = [
      ...(await hub.client.listParticipants(code)),
      ...(await hub.client.listParticipants(other)),
    ];
    expect(everybody.map(({ status }) => status)).toEqual(Array(7).fill("online"));
  });

  test("is not probed while its own tunnel is open", async () => {
    await using provider = await startMoodyProvider();
    await using lab = await openLab();
    const { hub, code } = lab;
    const { answer } = await joinDirect(hub, code, { endpoint: provider.url, ...probe });
    expect(answer.participant.liveness).toBe("probe");
    await using _agent = await joinTunnel(hub, code, { endpoint: provider.url });
    expect(await lab.ada()).not.toHaveProperty("liveness");
  });

  test.each([
    ["a tunnel is all that may reach it", { transport: "tunnel" }, "http://127.0.0.1:9/v1"],
    ["its address is never dialled", {}, "http://169.254.169.254/v1"],
  ] as const)("is 400 where %s", async (_why, fields, endpoint) => {
    await using lab = await openLab();
    const { hub, code } = lab;
    const json = { id: "ada", nickname: "Ada", model: "m", endpoint, ...probe, ...fields };
    const answer = await hub.fetch(`/rooms/${code}/join`, { json });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ error: { code: "invalid_endpoint" } });
    expect(await hub.client.listParticipants(code)).toEqual([]);
  });

  test.each([{ liveness: "heartbeat" }, { liveness: true }, { liveness: "" }])(
    "has one word for it: %j is 400",
    async (fields) => {
      await using lab = await openLab();
      const { hub, code } = lab;
      const json = { id: "ada", nickname: "Ada", model: "m", endpoint: "http://x", ...fields };
      const answer = await hub.fetch(`/rooms/${code}/join`, { json });
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({ error: { param: "liveness" } });
    },
  );
});

test("without the field, 30 s of silence is offline", async () => {
  await using provider = await startMoodyProvider();
  await using lab = await openLab();
  await joinDirect(lab.hub, lab.code, { endpoint: provider.url });
  const atJoin = provider.listCount;
  await lab.time.advance(31_000);
  expect((await lab.ada()).status).toBe("offline");
  expect(provider.listCount).toBe(atJoin);
});

test("a PUT begins and ends the probing", async () => {
  await using provider = await startMoodyProvider();
  await using lab = await openLab();
  const { hub, code } = lab;
  await joinDirect(hub, code, { endpoint: provider.url });
  const put = (liveness: "probe" | null) => hub.client.updateParticipant(code, "ada", { liveness });
  expect((await put("probe")).participant.liveness).toBe("probe");
  for (let count = 0; count < 4; count++) await lab.passProbe(provider);
  expect((await lab.ada()).status).toBe("online");
  expect((await put(null)).participant).not.toHaveProperty("liveness");
  await lab.time.advance(31_000);
  expect((await lab.ada()).status).toBe("offline");
});
