import { mkdtempSync, rmSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RESET_CODES } from "@roomhub/tunnel";
import { expect, test, vi } from "vitest";
import type { BudgetOptions } from "./budget/budget-options.ts";
import { send, type Exchange, startFakeHub } from "./fake-hub.fixture.ts";
import { startFakeModelServer } from "./fake-model-server.fixture.ts";
import { createTestParticipant, startWith, type TestOptions } from "./test-participant.fixture.ts";

type Respond = Parameters<typeof startFakeModelServer>[0];

/** One model server, and any number of hubs with a participant each. */
async function startShared(respond: Respond) {
  const folder = mkdtempSync(join(tmpdir(), "roomhub-budget-"));
  const model = await startFakeModelServer(respond);
  const closers: (() => Promise<void>)[] = [];
  return {
    model,
    async join(budget: BudgetOptions, over: TestOptions = {}) {
      const hub = await startFakeHub();
      const budgetFolder = join(folder, "budgets");
      const ana = createTestParticipant(hub, model.endpoint, { budget, budgetFolder, ...over });
      closers.push(async () => {
        await ana.participant.close({ drainMs: 0 });
        await hub.close();
      });
      return { hub, ana, session: await startWith(hub, ana) };
    },
    async [Symbol.asyncDispose]() {
      for (const close of closers) await close();
      await model.close();
      rmSync(folder, { recursive: true });
    },
  };
}

/** 15 tokens by its usage */
const respondWithUsage: Respond = (response) => {
  response.writeHead(200, { "content-type": "application/json" });
  response.end('{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":10}}');
};

async function served(exchange: Exchange): Promise<number | undefined> {
  await exchange.closed;
  return exchange.status;
}

test("a request beyond the budget gets a 429 of the participant, and the provider is not called", async () => {
  await using shared = await startShared(respondWithUsage);
  const { ana, session, hub } = await shared.join({ tokensPerDay: 30 });
  expect(await served(send(session))).toBe(200);
  expect(await served(send(session))).toBe(200);
  const refused = send(session);
  expect(await served(refused)).toBe(429);
  expect(refused.refusal).toBe("budget");
  expect(refused.headers).toMatchObject({
    "retry-after": expect.stringMatching(/^\d+$/),
    "x-ratelimit-limit-tokens": "30",
    "x-ratelimit-remaining-tokens": "0",
    "x-ratelimit-reset-tokens": expect.stringMatching(/^(\d+h)?(\d+m)?\d+s$/),
  });
  expect(JSON.parse(refused.body)).toMatchObject({
    error: {
      type: "rate_limit_error",
      message: expect.stringMatching(/^ana has used up.*again in/),
    },
  });
  const posts = shared.model.requests.filter(({ method }) => method === "POST");
  expect(posts.filter(({ url }) => url === "/v1/chat/completions")).toHaveLength(2);
  const refusal = { outcome: "refused", code: "budget", status: 429 };
  expect(ana.notices).toContainEqual(expect.objectContaining(refusal));
  expect(await served(send(session, { method: "GET", path: "/models" }, []))).toBe(200);
  await vi.waitFor(() => expect(hub.statuses.at(-1)?.budget).toMatchObject({ remainingTokens: 0 }));
  const problem = "has used up its budget of 30 tokens a day";
  expect(ana.notices.filter(({ kind }) => kind === "budget")).toEqual([
    { kind: "budget", problem },
  ]);
});

test("participants of other hubs with the same credentials share the budget; others have their own", async () => {
  await using shared = await startShared(respondWithUsage);
  const first = await shared.join({ tokensPerDay: 15 });
  const second = await shared.join({ tokensPerDay: 15 }, { id: "bob", model: "other" });
  const headers = { authorization: "Bearer another" };
  const third = await shared.join({ tokensPerDay: 15 }, { headers });
  expect(await served(send(first.session))).toBe(200);
  expect(await served(send(second.session))).toBe(429);
  expect(await served(send(third.session))).toBe(200);
});

test("a client that leaves before the usage has paid for what was generated", async () => {
  const talk: Respond = (response: ServerResponse) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write('data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n'.repeat(20));
  };
  await using shared = await startShared(talk);
  const { session } = await shared.join({ tokensPerDay: 50 });
  for (let count = 0; count < 3; count++) {
    const exchange = send(session, { stream: true });
    await vi.waitFor(() => expect(exchange.body.match(/Hi/g)).toHaveLength(20));
    exchange.stream.reset(RESET_CODES.cancelled, "leaves");
    await exchange.closed;
  }
  // Each cost one token for its two bytes, and 20 for its chunks.
  const refused = send(session, { stream: true });
  expect(await served(refused)).toBe(429);
});

test("responses that run when the budget is used up are completed, and no further request is", async () => {
  const gate = Promise.withResolvers<void>();
  await using shared = await startShared((response, incoming, body) => {
    void gate.promise.then(() => respondWithUsage(response, incoming, body));
  });
  const { session } = await shared.join({ tokensPerDay: 15 });
  const running = Array.from({ length: 5 }, () => send(session));
  await vi.waitFor(() => {
    const posts = shared.model.requests.filter(({ method }) => method === "POST");
    expect(posts.filter(({ url }) => url === "/v1/chat/completions")).toHaveLength(5);
  });
  gate.resolve();
  expect(await Promise.all(running.map(served))).toEqual([200, 200, 200, 200, 200]);
  expect(await served(send(session))).toBe(429);
});

test("an error response costs nothing", async () => {
  await using shared = await startShared((response) => void response.writeHead(500).end("{}"));
  const { session } = await shared.join({ tokensPerDay: 1 });
  for (let count = 0; count < 3; count++) expect(await served(send(session))).toBe(500);
});

test("outside its hours a participant reports that it is not ready, and why", async () => {
  await using shared = await startShared(respondWithUsage);
  let wallMs = new Date(2026, 4, 5, 22, 59, 59).getTime();
  const { ana, hub, session } = await shared.join(
    { hours: "18-23" },
    { world: { wallMs: () => wallMs } },
  );
  expect(await served(send(session))).toBe(200);
  wallMs += 1_000;
  const closed = { ready: false, reason: "shares from 18:00 to 23:00" };
  await vi.waitFor(() => expect(hub.statuses.at(-1)).toMatchObject(closed));
  expect(await served(send(session))).toBe(429);
  wallMs = new Date(2026, 4, 6, 18).getTime();
  await vi.waitFor(() => expect(hub.statuses.at(-1)).toMatchObject({ ready: true }));
  expect(ana.notices.filter(({ kind }) => kind === "budget")).toEqual([
    { kind: "budget", problem: "shares from 18:00 to 23:00" },
    { kind: "budget", problem: undefined },
  ]);
  expect(await served(send(session))).toBe(200);
});

test("a budget that cannot be kept is refused at once", async () => {
  await using shared = await startShared(respondWithUsage);
  await expect(
    shared.join({ tokensPerDay: 1 }, { budgetFolder: "/dev/null/budgets" }),
  ).rejects.toMatchObject({ code: "invalid_budget" });
});
