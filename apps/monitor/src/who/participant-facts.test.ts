import type { ParticipantSummary } from "@roomhub/protocol";
import { expect, test } from "vitest";
import {
  budgetText,
  byMachine,
  capabilityTexts,
  conditionOf,
  connectionText,
  readinessText,
  specTexts,
} from "./participant-facts.ts";

const load = { active: 0, queued: 0, limit: 2, limitFrom: "engine" as const };

function participant(overrides: Partial<ParticipantSummary> = {}): ParticipantSummary {
  return {
    id: "ada",
    nickname: "Ada",
    model: "llama3",
    endpoint: "http://127.0.0.1:11434",
    status: "online",
    connection: {
      kind: "tunnel",
      connected: true,
      lastTunnelSeenAt: null,
      path: "tunnel",
      readiness: "ready",
    },
    specs: {},
    config: {},
    capabilities: { openResponses: "unknown", chatCompletions: "supported" },
    joinedAt: 0,
    lastSeen: 0,
    load,
    ...overrides,
  };
}

test("participants of one machine are one group, at the place of the first", () => {
  const shared = { ...load, machine: { id: "m1", active: 1, limit: 2 } };
  const groups = byMachine([
    participant({ id: "a", load: shared }),
    participant({ id: "b" }),
    participant({ id: "c", load: shared }),
  ]);
  expect(groups.map((group) => group.participants.map(({ id }) => id))).toEqual([
    ["a", "c"],
    ["b"],
  ]);
});

test.each([
  ["good", {}],
  ["busy", { load: { ...load, active: 2 } }],
  ["busy", { connection: { ...participant().connection, readiness: "loading" } }],
  ["bad", { connection: { ...participant().connection, readiness: "down" } }],
  ["bad", { connection: { ...participant().connection, problem: "it is paused" } }],
  ["off", { status: "offline" }],
  ["off", { connection: { ...participant().connection, path: "none" } }],
] as const)("a participant is %s", (condition, overrides) => {
  expect(conditionOf(participant(overrides as Partial<ParticipantSummary>))).toBe(condition);
});

test("a connection and a status are shown as two things", () => {
  const { connection } = participant();
  const texts = [
    { ...connection },
    { ...connection, connected: false },
    { ...connection, connected: false, path: "direct" as const },
    { ...connection, connected: false, path: "none" as const },
  ].map((each) => connectionText(participant({ connection: each })));
  expect(texts).toEqual([
    "through its tunnel",
    "tunnel lost",
    "called by the hub",
    "not connected",
  ]);
});

test("a lost connection is not shown as a model that loads", () => {
  const connection = {
    ...participant().connection,
    connected: false,
    readiness: "loading",
  } as const;
  expect(readinessText(connection)).toBe("loading its model");
  const resuming = { streams: 2, sinceMs: 0 };
  expect(readinessText({ ...connection, resuming })).toBe("waiting for its connection");
  expect(conditionOf(participant({ connection: { ...connection, resuming } }))).toBe("busy");
});

test("a budget says what is left, and when it is renewed", () => {
  const budget = { tokensPerDay: 10_000, remainingTokens: 2_500, resetAt: 65_000 };
  expect(budgetText(participant({ budget }), 5_000)).toBe(
    "2,500 of 10k tokens left today, renewed in 1:00",
  );
  expect(budgetText(participant(), 0)).toBeUndefined();
});

test("capabilities that are tried have a question mark, and unsupported ones are left out", () => {
  const capabilities = {
    openResponses: "unknown",
    chatCompletions: "supported",
    embeddings: "unsupported",
  } as const;
  expect(capabilityTexts(participant({ capabilities }))).toEqual([
    "openResponses ?",
    "chatCompletions",
  ]);
});

test("specs are texts and numbers, of a size that fits", () => {
  const specs = { gpu: "RTX 4090", vram: 24, nested: { a: 1 }, long: "x".repeat(1_000) };
  expect(specTexts(participant({ specs }))).toEqual(["RTX 4090", "vram 24 GB", "x".repeat(60)]);
});
