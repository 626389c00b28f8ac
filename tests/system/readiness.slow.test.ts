import type { ParticipantSummary, Readiness } from "@roomhub/protocol";
import { describe, expect, test } from "vitest";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { join, joinDirect, PATHS } from "../support/hub/joining.ts";
import { ledgerOf, ledgerProblems, settled } from "../support/hub/ledger.ts";
import { createManualTime, QUICK_SWEEP } from "../support/hub/manual-time.ts";
import { startMoodyProvider } from "../support/providers/moody-provider.ts";
import { userSays } from "../support/clients/openai-client.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";
import { until } from "../support/waiting.ts";

async function ask(hub: TestHub, code: string, fields: Record<string, unknown> = {}) {
  const answer = await hub.fetch(`/rooms/${code}/v1/chat/completions`, {
    json: { model: "*", messages: userSays("hello"), ...fields },
  });
  const text = await answer.text();
  const { error } = text.startsWith("{")
    ? (JSON.parse(text) as { error?: { code: string; message: string; hint?: string } })
    : {};
  return {
    text,
    status: answer.status,
    by: answer.headers.get("x-roomhub-participant"),
    attempts: Number(answer.headers.get("x-roomhub-attempts")),
    queueMs: Number(answer.headers.get("x-roomhub-queue-ms")),
    retry: answer.headers.get("x-should-retry") ?? answer.headers.get("retry-after"),
    error,
  };
}

function hasBecome(hub: TestHub, code: string, readiness: Readiness, id = "ada") {
  return until(
    `${id} to be ${readiness}`,
    async () => {
      const { connection } = await hub.client.getParticipant(code, id);
      // On a busy machine the first probe may take too long; a heartbeat makes the next.
      if (!connection.connected) await hub.client.heartbeat(code, id);
      return connection;
    },
    (connection) => connection.readiness === readiness,
  );
}

const queued = (hub: TestHub, code: string, count: number, id = "ada") =>
  until(
    `${count} to wait`,
    async () => (await hub.client.getParticipant(code, id)).load.queued,
    (waiting) => waiting === count,
  );

describe.each(PATHS)("over %s, a participant whose key is wrong", (path) => {
  test("costs no request for * while another can serve it: 20 of 20 succeed", async () => {
    await using healthy = await startFakeProvider();
    await using locked = await startFakeProvider({ apiKey: "right" });
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { id: "ada", endpoint: healthy.url });
    await using _eve = await join(path, hub, code, { id: "eve", endpoint: locked.url });
    const events = await hub.watch(code);
    const answers = [];
    for (let count = 0; count < 20; count++) answers.push(await ask(hub, code));
    expect(answers.map(({ status, by }) => `${status} ${by}`)).toEqual(Array(20).fill("200 ada"));
    await settled(events, 20);
    expect(ledgerProblems(events)).toEqual([]);
    expect(ledgerOf(events).every(({ ends }) => ends[0]?.kind === "llm.complete")).toBe(true);
  });

  test("is refused without a call, with the command that gives it another key", async () => {
    await using provider = await startMoodyProvider({ list: 401 });
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { endpoint: provider.url });
    const { problem } = await hasBecome(hub, code, "needs-credentials");
    expect(problem).toContain("requires credentials");
    for (const model of ["*", "ada", "fake-model", "model:fake-model"]) {
      expect(await ask(hub, code, { model })).toMatchObject({
        status: 502,
        retry: "false",
        error: { code: "provider_auth_failed", hint: expect.stringContaining("--header-env") },
      });
    }
    expect(provider.chatCount).toBe(0);
  });

  test("is detected by the first call that it refuses, and tried again 5 s later", async () => {
    const time = createManualTime(250);
    await using provider = await startMoodyProvider({ chat: [401] });
    await using hub = await startTestHub({ world: time.world, limits: QUICK_SWEEP });
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { endpoint: provider.url });
    await hasBecome(hub, code, "ready");
    const events = await hub.watch(code);
    const refused = { status: 502, error: { code: "provider_auth_failed" } };
    expect(await ask(hub, code)).toMatchObject({ ...refused, by: "ada" });
    expect(await ask(hub, code)).toMatchObject({ ...refused, by: null });
    const beat = () => hub.client.heartbeat(code, "ada");
    await time.advance(4_000);
    await beat();
    expect(await ask(hub, code)).toMatchObject({ ...refused, by: null });
    provider.chat = [200];
    await until(
      "the trial",
      async () => {
        await time.advance(1_000);
        await beat();
        return (await ask(hub, code)).status;
      },
      (status) => status === 200,
    );
    expect(await ask(hub, code)).toMatchObject({ status: 200, by: "ada" });
    expect(provider.chatCount).toBe(3);
    // Capabilities learned meanwhile are updates too: only the changes of the verdict count.
    const changes = () =>
      events
        .of("participant.updated")
        .map(({ data }) => (data["participant"] as ParticipantSummary).connection.readiness)
        .filter((readiness, index, all) => readiness !== (all[index - 1] ?? "ready"));
    await events.waitFor("two changes", () => changes().length >= 2);
    expect(changes()).toEqual(["needs-credentials", "ready"]);
  });
});

test("a request that waits for a participant that loads goes to one whose credentials are tried again", async () => {
  const time = createManualTime(250);
  await using refuses = await startMoodyProvider({ chat: [401] });
  await using loads = await startMoodyProvider({ list: 503 });
  await using hub = await startTestHub({ world: time.world, limits: QUICK_SWEEP });
  const code = await hub.createRoom();
  await using _ada = await join("tunnel", hub, code, { endpoint: refuses.url });
  expect(await ask(hub, code)).toMatchObject({ status: 502, by: "ada" });
  await using _ben = await join("tunnel", hub, code, { id: "ben", endpoint: loads.url });
  await hasBecome(hub, code, "loading", "ben");
  refuses.chat = [200];
  const pass = async (ms: number) => {
    await time.advance(ms);
    for (const id of ["ada", "ben"]) await hub.client.heartbeat(code, id);
  };
  await pass(4_000);
  const answer = ask(hub, code, { model: "*" });
  await queued(hub, code, 1, "ben");
  await pass(2_000);
  expect(await answer).toMatchObject({ status: 200, by: "ada" });
});

describe.each(PATHS)("over %s, a participant that has served all day", (path) => {
  test("keeps serving everyone else when one call is refused with 401, and the refusal is named", async () => {
    await using provider = await startMoodyProvider();
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { endpoint: provider.url });
    await hasBecome(hub, code, "ready");
    expect(await ask(hub, code)).toMatchObject({ status: 200 });
    const listCount = () => provider.listCount;
    const before = listCount();
    provider.chat = [401, 200];
    expect(await ask(hub, code)).toMatchObject({
      status: 502,
      error: { code: "provider_auth_failed" },
    });
    const { connection } = await hub.client.getParticipant(code, "ada");
    expect(connection).toMatchObject({
      readiness: "ready",
      problem: "refused its last request with 401",
    });
    const route = await (await hub.fetch(`/rooms/${code}/route?model=ada`)).json();
    expect(route.participants[0].reason).toContain("it refused its last request with 401");
    await until("a look at the list", listCount, (count) => count > before);
    expect(await ask(hub, code)).toMatchObject({ status: 200, by: "ada", attempts: 1 });
    await until(
      "no problem",
      async () => (await hub.client.getParticipant(code, "ada")).connection.problem,
      (problem) => problem === undefined,
    );
  });

  test("needs credentials when its list refuses them too", async () => {
    await using provider = await startMoodyProvider();
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { endpoint: provider.url });
    await hasBecome(hub, code, "ready");
    expect(await ask(hub, code)).toMatchObject({ status: 200 });
    Object.assign(provider, { list: 401, chat: [401] });
    expect(await ask(hub, code)).toMatchObject({ status: 502, by: "ada" });
    await hasBecome(hub, code, "needs-credentials");
  });

  test("keeps serving after a 503 without a word of loading, which passes at once", async () => {
    await using provider = await startMoodyProvider();
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { endpoint: provider.url });
    await hasBecome(hub, code, "ready");
    provider.chat = [503, 200];
    expect(await ask(hub, code)).toMatchObject({ status: 503, attempts: 1, retry: null });
    const next = await ask(hub, code, { model: "ada" });
    expect(next).toMatchObject({ status: 200, by: "ada", attempts: 1 });
    expect(next.queueMs).toBeGreaterThan(0);
    expect(next.queueMs).toBeLessThan(10_000);
  });
});

describe.each(PATHS)("over %s, a participant that loads its model", (path) => {
  test.each(["ada", "*", "fake-model"])(
    "is waited for by a request for %s, which is served when it is ready",
    async (model) => {
      await using provider = await startMoodyProvider({ list: 503, chat: [503] });
      await using hub = await startTestHub();
      const code = await hub.createRoom();
      await using _ada = await join(path, hub, code, { endpoint: provider.url });
      const { problem } = await hasBecome(hub, code, "loading");
      expect(problem).toMatch(/^loading its model/);
      const answer = ask(hub, code, { model });
      await queued(hub, code, 1);
      expect(provider.chatCount).toBe(0);
      Object.assign(provider, { list: 200, chat: [200] });
      expect(await answer).toMatchObject({ status: 200, by: "ada", attempts: 1 });
      expect((await answer).queueMs).toBeGreaterThan(0);
      expect((await hasBecome(hub, code, "ready")).problem).toBeUndefined();
    },
  );

  test("keeps a stream alive meanwhile", async () => {
    await using provider = await startMoodyProvider({ list: 503, chat: [503] });
    const limits = { earlyCommitMs: 50, keepaliveCommentMs: 50, sweepIntervalMs: 5 };
    await using hub = await startTestHub({ limits });
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { endpoint: provider.url });
    await hasBecome(hub, code, "loading");
    const answer = await hub.fetch(`/rooms/${code}/v1/chat/completions`, {
      json: { model: "*", stream: true, messages: userSays("hello") },
    });
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    const read = async () => {
      const part = await reader?.read();
      text += part?.value ?? "";
      return part?.done === true;
    };
    while (text.split(": keepalive\n\n").length < 4) await read();
    expect(provider.chatCount).toBe(0);
    Object.assign(provider, { list: 200, chat: [200] });
    while (!(await read()));
    expect(text).toMatch(
      /^: ada loads fake-model, for \d+ s so far\n\n(?:: keepalive\n\n)+data: \{.*\n\ndata: \[DONE\]\n\n$/,
    );
  });

  test.each(["ada", "*"])(
    "and responds 503 to a request for %s gets it again when it is ready",
    async (model) => {
      await using provider = await startMoodyProvider({ chat: ["loads", 200] });
      await using hub = await startTestHub();
      const code = await hub.createRoom();
      await using _ada = await join(path, hub, code, { endpoint: provider.url });
      await hasBecome(hub, code, "ready");
      const events = await hub.watch(code);
      expect(await ask(hub, code, { model })).toMatchObject({ status: 200, attempts: 2 });
      expect(provider.chatCount).toBe(2);
      await settled(events, 1);
      expect(ledgerProblems(events)).toEqual([]);
    },
  );

  test("is passed over for another that is ready", async () => {
    await using loading = await startMoodyProvider({ list: 503, chat: [503] });
    await using ready = await startMoodyProvider();
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { endpoint: loading.url });
    await using _bob = await join(path, hub, code, { id: "bob", endpoint: ready.url });
    await hasBecome(hub, code, "loading");
    expect(await ask(hub, code, { model: "fake-model" })).toMatchObject({ by: "bob", queueMs: 0 });
    expect(loading.chatCount).toBe(0);
  });

  test("is shown by the explanation of a route", async () => {
    await using provider = await startMoodyProvider({ list: 503 });
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { endpoint: provider.url });
    await hasBecome(hub, code, "loading");
    const route = await (await hub.fetch(`/rooms/${code}/route?model=ada`)).json();
    expect(route).toMatchObject({
      outcome: "waits",
      participants: [
        {
          verdict: "loading",
          reason: expect.stringMatching(/^loading its model.*waits until it is ready$/) as string,
          connection: { readiness: "loading" },
        },
      ],
    });
  });
});

describe.each(PATHS)("over %s, a 403", (path) => {
  test("moves a request elsewhere until a call had a 2xx response, and never changes the verdict", async () => {
    await using strict = await startMoodyProvider({ chat: [403] });
    await using other = await startMoodyProvider();
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { endpoint: strict.url });
    await hasBecome(hub, code, "ready");
    await using _bob = await join(path, hub, code, { id: "bob", endpoint: other.url });
    await hasBecome(hub, code, "ready", "bob");
    const model = "model:fake-model";
    expect(await ask(hub, code, { model })).toMatchObject({ status: 200, by: "bob", attempts: 2 });
    strict.chat = [200];
    expect(await ask(hub, code, { model })).toMatchObject({ status: 200, by: "ada", attempts: 1 });
    strict.chat = [403];
    expect(await ask(hub, code, { model })).toMatchObject({ status: 502, by: "ada", attempts: 1 });
    expect((await hub.client.getParticipant(code, "ada")).connection.readiness).toBe("ready");
  });
});

describe("three attempts", () => {
  test("are made at most, on three participants, each with an event", async () => {
    await using locked = await startMoodyProvider({ chat: [401] });
    await using broken = await startMoodyProvider({ chat: [502] });
    await using good = await startMoodyProvider();
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await joinDirect(hub, code, { id: "ada", endpoint: locked.url });
    await joinDirect(hub, code, { id: "bob", endpoint: broken.url });
    await joinDirect(hub, code, { id: "cy", endpoint: good.url });
    const events = await hub.watch(code);
    const answer = await ask(hub, code, { model: "fake-model" });
    expect(answer).toMatchObject({ status: 200, by: "cy", attempts: 3 });
    await settled(events, 1);
    expect(ledgerProblems(events)).toEqual([]);
    const asked = events.of("llm.request").map(({ data }) => data["participantId"]);
    expect(asked).toEqual(["ada", "bob", "cy"]);
  });

  test("that fail end the request, although a fourth participant is ready", async () => {
    await using broken = await startMoodyProvider({ chat: [502] });
    await using good = await startMoodyProvider();
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    for (const id of ["ada", "bob", "cy"])
      await joinDirect(hub, code, { id, endpoint: broken.url });
    await joinDirect(hub, code, { id: "dee", endpoint: good.url });
    expect(await ask(hub, code, { model: "model:fake-model" })).toMatchObject({
      status: 502,
      by: "cy",
      attempts: 3,
      retry: null,
    });
    expect(good.chatCount).toBe(0);
  });
});

describe("a server that lost its model", () => {
  test("gets no request, and one again when it lists the model", async () => {
    const time = createManualTime();
    await using provider = await startMoodyProvider();
    await using hub = await startTestHub({ world: time.world, limits: QUICK_SWEEP });
    const code = await hub.createRoom();
    await joinDirect(hub, code, { endpoint: provider.url });
    await hasBecome(hub, code, "ready");
    provider.models = ["other-model"];
    provider.chat = ["loads"];
    const waiting = ask(hub, code);
    await hasBecome(hub, code, "loading");
    provider.chat = [200];
    await passUntil(time, hub, code, "wrong-model");
    expect(await waiting).toMatchObject({ status: 503, error: { code: "provider_error" } });
    expect(await ask(hub, code)).toMatchObject({
      status: 503,
      retry: "5",
      error: {
        code: "participant_offline",
        message: expect.stringContaining("now serves other-model") as string,
      },
    });
    provider.models = ["fake-model"];
    await passUntil(time, hub, code, "ready");
    expect(await ask(hub, code)).toMatchObject({ status: 200 });
  });
});

/** Lets the hub's time pass with heartbeats. */
async function passUntil(
  time: ReturnType<typeof createManualTime>,
  hub: TestHub,
  code: string,
  readiness: Readiness,
): Promise<void> {
  await until(
    `ada to be ${readiness}`,
    async () => {
      await time.advance(1_000);
      await hub.client.heartbeat(code, "ada");
      return (await hub.client.getParticipant(code, "ada")).connection.readiness;
    },
    (now) => now === readiness,
  );
}
