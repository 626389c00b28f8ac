import type { BudgetOptions, ParticipantOptions } from "@roomhub/participant";
import { type ParticipantSummary, systemWorld } from "@roomhub/protocol";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join as joinPath } from "node:path";
import { expect, test } from "vitest";
import { userSays } from "../support/clients/openai-client.ts";
import { joinDirect, joinTunnel } from "../support/hub/joining.ts";
import { ledgerOf, ledgerProblems, settled } from "../support/hub/ledger.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";
import { startParticipantProcess } from "../support/programs/roomhub-process.ts";
import { temporaryFolder } from "../support/programs/temporary-folder.ts";
import { type Behaviour, startFakeProvider } from "../support/providers/fake-provider.ts";
import { until } from "../support/waiting.ts";

/** A hub, a room, a provider, and agents that keep their ledgers in one folder. */
async function startShared(behave?: () => Behaviour | undefined) {
  const budgetFolder = mkdtempSync(joinPath(tmpdir(), "roomhub-budgets-"));
  const provider = await startFakeProvider({ behave });
  const hub = await startTestHub();
  const code = await hub.createRoom();
  const agents: AsyncDisposable[] = [];
  const timing = { tickMs: 10 };
  return {
    hub,
    code,
    provider,
    async join(id: string, budget: BudgetOptions, over: Partial<ParticipantOptions> = {}) {
      const { world, headers, capabilities } = over;
      const wishes = { id, budget, budgetFolder, timing, world, headers, capabilities };
      agents.push(await joinTunnel(hub, code, { endpoint: provider.url, ...wishes }));
    },
    async ask(
      model: string,
      { path = "chat/completions", key = "as-alice", ...fields }: Record<string, string> = {},
    ) {
      const response = await hub.fetch(`/rooms/${code}/v1/${path}`, {
        headers: { authorization: `Bearer ${key}` },
        json: { model, messages: userSays("hello"), ...fields },
      });
      const { status, headers } = response;
      const text = await response.text();
      return { status, headers, text, by: headers.get("x-roomhub-participant") };
    },
    listed: (id: string) => hub.client.getParticipant(code, id),
    async [Symbol.asyncDispose]() {
      for (const agent of agents) await agent[Symbol.asyncDispose]();
      await hub[Symbol.asyncDispose]();
      await provider.close();
      rmSync(budgetFolder, { recursive: true });
    },
  };
}

test("a participant whose tokens for batches are used up serves all but batches", async () => {
  await using shared = await startShared();
  await shared.join("ada", { batchTokensPerDay: 1 });
  expect(await shared.ask("ada", { service_tier: "flex" })).toMatchObject({ status: 200 });
  const spent = await until(
    "the tokens to be used up",
    () => shared.listed("ada"),
    ({ budget }) => budget?.remainingBatchTokens === 0,
  );
  expect(spent).toMatchObject({ status: "online", budget: { batchTokensPerDay: 1 } });
  const path = `/v1/rooms/${shared.code}/route?model=ada&priority=batch`;
  expect(await (await shared.hub.fetch(path)).json()).toMatchObject({
    outcome: "waits",
    participants: [{ reason: "its 1 tokens a day for batches are used up" }],
  });
  expect(await shared.ask("ada")).toMatchObject({ status: 200, by: "ada" });
});

const ownKey = (name: string) => ({ headers: { authorization: `Bearer secret-of-${name}` } });

test("a request beyond one budget goes to another participant, and by id gets a 429 that says when to come back", async () => {
  await using shared = await startShared();
  const { hub, code, provider } = shared;
  await shared.join("ada", { tokensPerDay: 1 }, ownKey("ada"));
  await shared.join("bob", {}, ownKey("bob"));
  const events = await hub.watch(code);
  expect(await shared.ask("ada")).toMatchObject({ status: 200, by: "ada" });
  const refused = await shared.ask("ada");
  expect(refused).toMatchObject({ status: 429, by: "ada" });
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(refused.headers.get("x-ratelimit-limit-tokens")).toBe("1");
  expect(refused.headers.get("x-ratelimit-remaining-tokens")).toBe("0");
  expect(refused.headers.get("x-ratelimit-reset-tokens")).toMatch(/^(\d+h)?(\d+m)?\d+s$/);
  expect(JSON.parse(refused.text)).toMatchObject({
    error: {
      type: "rate_limit_error",
      code: "budget_exhausted",
      message: expect.stringMatching(
        /^ada has used up its budget of 1 tokens a day\. Try again in/,
      ),
    },
  });
  for (let count = 0; count < 10; count++) {
    expect(await shared.ask("*")).toMatchObject({ status: 200, by: "bob" });
  }
  // The hub knows by now, and refuses without asking.
  const known = await shared.ask("ada");
  expect(known).toMatchObject({ status: 429, by: null });
  expect(Number(known.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(provider.requests.filter(({ path }) => path === "/v1/chat/completions")).toHaveLength(11);
  await settled(events, 13);
  expect(ledgerProblems(events)).toEqual([]);
});

test("a request that a participant refuses for its budget is sent to another with the next attempt's number", async () => {
  await using shared = await startShared();
  const { hub, code } = shared;
  await shared.join("ada", { tokensPerDay: 1 }, ownKey("ada"));
  expect(await shared.ask("ada")).toMatchObject({ status: 200 });
  await shared.join("bob", {}, ownKey("bob"));
  const events = await hub.watch(code);
  expect(await shared.ask("model:fake-model")).toMatchObject({ status: 200, by: "bob" });
  await settled(events, 1);
  const [entry] = ledgerOf(events);
  expect(entry?.requests.map(({ data }) => [data["participantId"], data["attempt"]])).toEqual([
    ["ada", 1],
    ["bob", 2],
  ]);
  expect(entry?.ends).toMatchObject([{ kind: "llm.complete", data: { attempts: 2 } }]);
});

test("a messages client gets the refusal in Anthropic's shape", async () => {
  await using shared = await startShared();
  await shared.join("ada", { requestsPerMinute: 1 }, { capabilities: { messages: "supported" } });
  await shared.ask("ada");
  const refused = await shared.ask("ada", { path: "messages" });
  expect(refused.status).toBe(429);
  expect(JSON.parse(refused.text)).toMatchObject({
    type: "error",
    error: { type: "rate_limit_error", message: expect.stringContaining("1 request a minute") },
  });
});

test("new names, and a second agent with the same key, do not get around a budget", async () => {
  await using shared = await startShared();
  await shared.join("ada", { requestsPerMinute: 20 });
  await shared.join("eve", { requestsPerMinute: 20 });
  const statuses: number[] = [];
  for (let count = 0; count < 30; count++) {
    const model = count % 2 === 0 ? "ada" : "eve";
    statuses.push((await shared.ask(model, { key: `as-name${count}` })).status);
  }
  expect(statuses.map((status) => status === 200)).toEqual(statuses.map((_, at) => at < 20));
});

test("two join processes, in rooms of two hubs, share one budget, and so does one that replaces a killed one", async () => {
  await using folder = await temporaryFolder();
  await using provider = await startFakeProvider();
  await using hub = await startTestHub();
  await using other = await startTestHub();
  const env = { XDG_STATE_HOME: folder.path };
  const share = ["--model", "fake-model", "--endpoint", provider.url];
  const budget = ["--requests-per-minute", "5", "--tokens-per-day", "100000"];
  const rooms = await Promise.all(
    [hub, other].map(async (each) => ({ hub: each, code: await each.createRoom() })),
  );
  const start = (room: (typeof rooms)[number] | undefined) =>
    startParticipantProcess(room?.hub.url ?? "", room?.code ?? "", [...share, ...budget], env);
  await using first = await start(rooms[0]);
  await using _second = await start(rooms[1]);
  const ask = async (room: (typeof rooms)[number] | undefined) => {
    const json = { model: "*", messages: userSays("hello") };
    const response = await room?.hub.fetch(`/rooms/${room.code}/v1/chat/completions`, { json });
    await response?.text();
    return response?.status;
  };
  const statuses = [];
  for (let count = 0; count < 4; count++) statuses.push(await ask(rooms[count % 2]));
  expect(statuses).toEqual([200, 200, 200, 200]);
  await first.kill("SIGKILL");
  await using _third = await start(rooms[0]);
  expect([await ask(rooms[0]), await ask(rooms[1]), await ask(rooms[0])]).toEqual([200, 429, 429]);
});

test("what is left is listed, and announced by steps", async () => {
  await using shared = await startShared();
  const events = await shared.hub.watch(shared.code);
  await shared.join("ada", { tokensPerDay: 1_000_000, requestsPerMinute: 60 });
  expect((await shared.listed("ada")).budget).toEqual({
    tokensPerDay: 1_000_000,
    remainingTokens: 1_000_000,
    requestsPerMinute: 60,
    resetAt: expect.any(Number),
  });
  await shared.ask("ada");
  const { budget } = await until(
    "a smaller budget",
    () => shared.listed("ada"),
    (one) => (one.budget?.remainingTokens ?? 0) < 1_000_000,
  );
  expect(budget?.remainingTokens).toBeGreaterThan(999_000);
  const announced = events
    .of("participant.updated")
    .map(({ data }) => (data["participant"] as ParticipantSummary).budget?.remainingTokens);
  expect(announced.every((remaining) => remaining === 1_000_000)).toBe(true);
});

test("outside its hours a participant is not ready, and the reason has the hours", async () => {
  let wallMs = new Date(2026, 5, 1, 12).getTime();
  await using shared = await startShared();
  await shared.join(
    "ada",
    { hours: "18-23" },
    {
      world: { ...systemWorld, wallMs: () => wallMs },
    },
  );
  expect(await shared.listed("ada")).toMatchObject({
    status: "unavailable",
    connection: {
      connected: true,
      readiness: "down",
      problem: "not ready: shares from 18:00 to 23:00",
    },
  });
  const refused = await shared.ask("*");
  expect(refused.status).toBe(503);
  expect(refused.text).toContain("shares from 18:00 to 23:00");
  wallMs = new Date(2026, 5, 1, 18).getTime();
  await until(
    "the evening",
    () => shared.listed("ada"),
    (one) => one.connection.readiness === "ready",
  );
  expect((await shared.listed("ada")).status).toBe("online");
  expect((await shared.ask("*")).status).toBe(200);
});

test("a provider's 429 moves a request to another that is ready, and is passed on when there is none", async () => {
  const headers = { "retry-after": "3" };
  const body = { error: { message: "slow down", type: "requests", param: null, code: "rpm" } };
  await using shared = await startShared(() => ({ kind: "status", status: 429, body, headers }));
  await shared.join("ada", {});
  const alone = await shared.ask("*");
  expect(alone).toMatchObject({ status: 429, by: "ada", text: JSON.stringify(body) });
  expect(alone.headers.get("retry-after")).toBe("3");
  await using healthy = await startFakeProvider();
  await using _bob = await joinDirect(shared.hub, shared.code, {
    id: "bob",
    endpoint: healthy.url,
  });
  for (let count = 0; count < 10; count++) {
    expect(await shared.ask("*")).toMatchObject({ status: 200, by: "bob" });
  }
  expect(await shared.ask("ada")).toMatchObject({ status: 429, by: "ada" });
});
