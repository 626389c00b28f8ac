import type { ParticipantSummary } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { byMachine, conditionOf, factTexts, troubleText } from "./participant-facts.ts";

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

const connection = participant().connection;
const down = { ...connection, readiness: "down" as const };
const idle = { active: 0, elsewhere: 0, limit: 2, waiting: 0 };

test.each([
  ["good", {}, idle],
  ["busy", {}, { ...idle, active: 1, elsewhere: 1 }],
  ["busy", { connection: { ...connection, readiness: "loading" } }, idle],
  ["bad", { connection: down }, idle],
  ["bad", { connection: { ...connection, problem: "it is paused" } }, idle],
  ["off", { status: "offline" }, idle],
  ["off", { connection: { ...connection, path: "none" } }, idle],
] as const)("a participant is %s", (condition, overrides, slots) => {
  expect(conditionOf(participant(overrides as Partial<ParticipantSummary>), slots)).toBe(condition);
});

test.each([
  [undefined, {}],
  [undefined, { connection: { ...connection, connected: false, path: "direct" } }],
  ["offline, seen 5 min ago", { status: "offline", connection: down }],
  ["tunnel lost", { connection: { ...connection, connected: false } }],
  ["not connected", { connection: { ...connection, connected: false, path: "none" } }],
  ["it is paused", { connection: { ...connection, problem: "it is paused" } }],
  ["its model server does not respond", { connection: down }],
  ["not ready: it left", { connection: { ...down, problem: "not ready: it left" } }],
  [
    "waiting for its connection",
    { connection: { ...connection, readiness: "loading", resuming: { streams: 2, sinceMs: 0 } } },
  ],
] as const)("what keeps a participant from taking requests is said once: %s", (text, overrides) => {
  expect(troubleText(participant(overrides as Partial<ParticipantSummary>), 300_000)).toBe(text);
});

test("a budget says what is left, and when it is renewed", () => {
  const budget = { tokensPerDay: 10_000, remainingTokens: 2_500, resetAt: 65_000 };
  expect(factTexts(participant({ budget }), 5_000)).toContain(
    "budget: 2,500 of 10k tokens left today, renewed in 1:00",
  );
});

test("facts say what is known of the model", () => {
  const unknown = { vision: "unknown", reasoning: "unknown", logprobs: "unknown" } as const;
  const facts = factTexts(
    participant({
      context: { tokens: 8_192, from: "loaded" },
      features: { tools: "supported", structuredOutput: "enforced", ...unknown },
      answersAs: "qwen3",
    }),
    0,
  );
  expect(facts).toEqual(
    expect.arrayContaining(["context 8k", "tools", "schema", "answers as qwen3"]),
  );
});

test("facts are specs of a size that fits, the connection, and capabilities that are not ruled out", () => {
  const specs = { gpu: "RTX 4090", vram: 24, nested: { a: 1 }, long: "x".repeat(1_000) };
  const capabilities = {
    openResponses: "unknown",
    chatCompletions: "supported",
    embeddings: "unsupported",
  } as const;
  const loadedModels = ["llama3", "qwen3"];
  expect(factTexts(participant({ specs, capabilities, loadedModels }), 0)).toEqual([
    ...["ada", "RTX 4090", "vram 24 GB", "x".repeat(60), "through its tunnel", "model loaded"],
    ...["openResponses ?", "chatCompletions"],
  ]);
});
