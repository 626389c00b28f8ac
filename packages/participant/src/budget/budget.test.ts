import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemWorld } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { Budget } from "./budget.ts";
import { type BudgetOptions, readBudget } from "./budget-options.ts";
import { refusalBody, refusalHeaders } from "./budget-refusal.ts";
import { Ledger } from "./ledger.ts";

const dayMs = 86_400_000;
/** 17:30 by the clock of these tests */
const afternoonMs = Date.parse("2026-05-05T17:30:00Z");

const readLocalTime = (epochMs: number) => {
  const text = new Date(epochMs).toISOString();
  return { day: text.slice(0, 10), hour: Number(text.slice(11, 13)) };
};

function createBudgets() {
  const folder = mkdtempSync(join(tmpdir(), "roomhub-budget-"));
  const time = { nowMs: afternoonMs };
  const faults: unknown[] = [];
  let count = 0;
  return {
    folder,
    time,
    faults,
    /** as another process would */
    open(options: BudgetOptions): Budget {
      const rules = readBudget(options);
      if (rules === undefined) throw new Error("no limit");
      const dayOf = (epochMs: number) => readLocalTime(epochMs).day;
      return new Budget(rules, {
        participantId: "ana-llama",
        ledger: new Ledger({ folder, key: "abc", dayOf, writerId: `w${count++}` }),
        world: { ...systemWorld, wallMs: () => time.nowMs },
        readLocalTime,
        onFault: (error) => faults.push(error),
      });
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true }),
  };
}

test("a day's tokens are refused once they are used up, until midnight, after a restart too", () => {
  using budgets = createBudgets();
  const budget = budgets.open({ tokensPerDay: 1_000 });
  expect(budget.report).toMatchObject({ tokensPerDay: 1_000, remainingTokens: 1_000 });
  budget.spend(999);
  expect(budget.admit()).toBeUndefined();
  budget.spend(400);
  const refusal = budgets.open({ tokensPerDay: 1_000 }).admit();
  expect(refusal).toMatchObject({ retryAfterSeconds: 6.5 * 3_600 });
  expect(refusal?.message).toBe(
    "ana-llama has used up its budget of 1,000 tokens a day. Try again in 6 h 30 min, or use another participant.",
  );
  expect(refusalHeaders(refusal!)).toEqual({
    "content-type": "application/json",
    "retry-after": "23400",
    "x-ratelimit-limit-tokens": "1000",
    "x-ratelimit-remaining-tokens": "0",
    "x-ratelimit-reset-tokens": "6h30m0s",
  });
  expect(budget.report).toEqual({
    tokensPerDay: 1_000,
    remainingTokens: 0,
    requestsPerMinute: undefined,
    resetAt: Date.parse("2026-05-06T00:00:00Z"),
  });
  budgets.time.nowMs = Date.parse("2026-05-06T00:00:00Z");
  expect(budget.admit()).toBeUndefined();
  expect(budget.report).toMatchObject({ remainingTokens: 1_000 });
});

test("a refusal has the shape of an error of OpenAI, or of Anthropic", () => {
  using budgets = createBudgets();
  const budget = budgets.open({ tokensPerDay: 1 });
  budget.spend(1);
  const refusal = budget.admit()!;
  const { message } = refusal;
  expect(JSON.parse(refusalBody(refusal, "openai").toString())).toEqual({
    error: { message, type: "rate_limit_error", param: "", code: "budget_exhausted" },
  });
  expect(JSON.parse(refusalBody(refusal, "anthropic").toString())).toEqual({
    type: "error",
    error: { type: "rate_limit_error", message },
  });
});

test("requests per minute count together for all processes", () => {
  using budgets = createBudgets();
  const [one, other] = [0, 1].map(() => budgets.open({ requestsPerMinute: 3 })) as [Budget, Budget];
  expect(one.admit()).toBeUndefined();
  budgets.time.nowMs += 20_000;
  expect(other.admit()).toBeUndefined();
  expect(one.admit()).toBeUndefined();
  const refusal = other.admit();
  expect(refusal).toMatchObject({ retryAfterSeconds: 40, tokens: undefined });
  expect(refusal?.message).toContain("serves 3 requests a minute");
  expect(refusalHeaders(refusal!)).not.toHaveProperty("x-ratelimit-limit-tokens");
  budgets.time.nowMs += 40_000;
  expect(other.admit()).toBeUndefined();
  expect(one.admit()).toMatchObject({ retryAfterSeconds: 20 });
  expect(one.report).toEqual({ requestsPerMinute: 3 });
});

test("outside its hours a participant is closed and says when it opens", () => {
  using budgets = createBudgets();
  const budget = budgets.open({ hours: "18-23" });
  expect(budget.closedReason).toBe("shares from 18:00 to 23:00");
  expect(budget.admit()).toMatchObject({
    retryAfterSeconds: 1_800,
    message:
      "ana-llama shares from 18:00 to 23:00. Try again in 30 min, or use another participant.",
  });
  budgets.time.nowMs += 30 * 60_000;
  expect(budget.closedReason).toBeUndefined();
  expect(budget.admit()).toBeUndefined();
  budgets.time.nowMs += 5 * 3_600_000;
  expect(budget.admit()).toMatchObject({ retryAfterSeconds: 19 * 3_600 });
  const nightly = budgets.open({ hours: "22-6" });
  expect(nightly.closedReason).toBeUndefined();
  budgets.time.nowMs += 7 * 3_600_000;
  expect(nightly.closedReason).toBe("shares from 22:00 to 06:00");
});

test("while nothing can be written, nothing is served, and what was spent counts afterwards", () => {
  using budgets = createBudgets();
  const budget = budgets.open({ tokensPerDay: 100 });
  expect(budget.admit()).toBeUndefined();
  rmSync(budgets.folder, { recursive: true });
  writeFileSync(budgets.folder, "a file in its place");
  budget.spend(100);
  expect(budget.admit()).toMatchObject({ retryAfterSeconds: 60 });
  expect(budget.report).toMatchObject({ remainingTokens: 0 });
  expect(budgets.faults).toHaveLength(2);
  rmSync(budgets.folder);
  expect(budget.admit()).toMatchObject({ tokens: { limit: 100, remaining: 0 } });
  budgets.time.nowMs += dayMs;
  expect(budget.admit()).toBeUndefined();
});

test.each<BudgetOptions>([
  { tokensPerDay: 0 },
  { tokensPerDay: 1.5 },
  { requestsPerMinute: -1 },
  { requestsPerMinute: 1e13 },
  { tokensPerDay: Number.NaN },
  { hours: "18" },
])("a budget of %j is refused", (options) => {
  expect(() => readBudget(options)).toThrow(/^The budget's \w+ /);
});

test("a budget that limits nothing is none", () => {
  expect(readBudget(undefined)).toBeUndefined();
  expect(readBudget({})).toBeUndefined();
});

test("tokens of batches have a limit of their own, and nothing else does for it", () => {
  using budgets = createBudgets();
  const budget = budgets.open({ batchTokensPerDay: 1_000 });
  budget.spend(5_000);
  expect(budget.report).toMatchObject({ batchTokensPerDay: 1_000, remainingBatchTokens: 1_000 });
  expect(budget.report?.resetAt).toBe(Date.parse("2026-05-06T00:00:00Z"));
  budget.spend(999, true);
  expect(budget.admit(true)).toBeUndefined();
  budget.spend(10, true);
  const other = budgets.open({ batchTokensPerDay: 1_000, tokensPerDay: 1_000_000 });
  expect(other.report).toMatchObject({ remainingBatchTokens: 0, remainingTokens: 993_991 });
  expect(other.admit()).toBeUndefined();
  expect(other.problem).toBeUndefined();
  const refusal = other.admit(true);
  expect(refusal).toMatchObject({ retryAfterSeconds: 6.5 * 3_600, isForBatches: true });
  expect(refusal?.message).toMatch(
    /^ana-llama has used up its budget of 1,000 tokens a day for batches\./,
  );
  budgets.time.nowMs += dayMs;
  expect(other.admit(true)).toBeUndefined();
  expect(other.report).toMatchObject({ remainingBatchTokens: 1_000 });
});
