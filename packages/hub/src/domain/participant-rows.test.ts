import { describe, expect, test } from "vitest";
import type { Participant } from "./participant.ts";
import { ParticipantRows } from "./participant-rows.ts";
import { aParticipant } from "./room.fixture.ts";
import { participantView } from "./views.ts";

const ready = { kind: "open", readiness: "ready", problem: "", sinceMs: 0 } as const;

function aReady(): Participant {
  return aParticipant({
    id: "ana",
    nickname: "Ana ü",
    tunnel: ready,
    lastContactAt: 1_700_000_000_007,
  });
}

/** Each makes another row of it. */
const changes: Record<string, (participant: Participant) => void> = {
  nickname: (one) => (one.nickname = "Bea"),
  model: (one) => (one.model = "qwen"),
  endpoint: (one) => (one.endpoint = "http://127.0.0.1:1"),
  specs: (one) => (one.specs = { gpu: "other" }),
  config: (one) => (one.config = { instructions: "secret" }),
  "agent id": (one) => (one.agentId = "another"),
  liveness: (one) => (one.liveness = "probe"),
  "stand-in": (one) => (one.isStandIn = true),
  capabilities: ({ learned }) =>
    (learned.capabilities = { openResponses: "supported", chatCompletions: "unknown" }),
  "loaded models": ({ learned }) => (learned.loadedModels = ["qwen"]),
  "slots that other programs take": ({ learned }) =>
    (learned.reported = { limit: 4, limitFrom: "engine", elsewhere: 2 }),
  "running requests": ({ load }) => (load.active = 1),
  "waiting requests": ({ load }) => (load.queued = 1),
  limit: ({ load }) => (load.limit = 9),
  "where the limit comes from": ({ load }) => (load.limitFrom = "engine"),
  "a doubt": ({ paths }) => (paths.tunnel = { ...ready, problem: "its last request failed" }),
  "a problem of its tunnel": ({ paths }) => (paths.tunnelProblem = "flapping"),
  "a closed tunnel": ({ paths }) => (paths.tunnel = { kind: "closed" }),
  "a model server that loads": ({ paths }) => (paths.tunnel = { ...ready, readiness: "loading" }),
  "a sign of life": ({ presence }) => presence.lastSeenAt++,
  "a contact": ({ paths }) => (paths.lastContactAt = 1_700_000_123_456),
  "no contact": ({ paths }) => (paths.lastContactAt = null),
  silence: ({ presence }) => (presence.status = "offline"),
  "what its model server responds as": ({ learned }) =>
    (learned.facts = { ...learned.facts, answersAs: "qwen3" }),
  "a budget": ({ load }) => (load.budget = { tokensPerDay: 9, remainingTokens: 3 }),
  "a used-up budget": ({ load }) => (load.restsUntilMs = 90_000),
};

describe("the rows of a list", () => {
  test.for(Object.entries(changes))("show %s", ([, change]) => {
    const rows = new ParticipantRows();
    const [changed, other] = [aReady(), aReady()];
    const list = () => JSON.parse(rows.listOf([changed, other], 60_000).toString()) as unknown;
    const expected = () => ({
      participants: [changed, other].map((one) => participantView(one, 60_000)),
    });
    expect(list()).toEqual(expected());
    const before = list();
    change(changed);
    expect(list()).toEqual(expected());
    expect(list()).not.toEqual(before);
  });

  test("of a list that was made do not change with the next one", () => {
    const rows = new ParticipantRows();
    const one = aReady();
    rows.listOf([one], 0);
    const made = rows.listOf([one], 0);
    const text = made.toString();
    one.presence.lastSeenAt++;
    one.paths.lastContactAt = 1_700_000_123_456;
    expect(rows.listOf([one], 0).toString()).not.toBe(text);
    expect(made.toString()).toBe(text);
  });

  test("of an empty room are an empty list", () => {
    expect(new ParticipantRows().listOf([], 0).toString()).toBe('{"participants":[]}');
  });
});
