import { expect, test } from "vitest";
import type { HubEvent } from "@roomhub/protocol";
import { aComplete, aFailure } from "../../test-context.fixture.ts";
import { usageJson, UsageSums } from "./usage-sums.ts";

function complete(over: object = {}, metrics: object = {}): HubEvent {
  return {
    ...aComplete,
    metrics: { ttftMs: 1, durationMs: 2, ...metrics },
    ...over,
  } as HubEvent;
}

const bob = { client: { kind: "key", id: "5f0c1a2b", user: "bob" } };

const exactly = (tokens: number) => ({ tokens, worth: "exact" });
const unknown = { tokens: 0, worth: "unknown" };

test("for programs, unknown tokens are null, and sums that lack some responses are named", () => {
  const sums = new UsageSums();
  sums.note(complete({}, { inputTokens: 10, outputTokens: 5 }));
  sums.note(complete({}, { outputTokens: 5 }));
  sums.note(aFailure);
  expect(sums.rows().map(usageJson)).toMatchObject([
    {
      ...{ person: "alice", inputTokens: 10, outputTokens: 10, cachedInputTokens: null },
      estimated: ["inputTokens"],
    },
    { person: "-", inputTokens: null, outputTokens: null, cachedInputTokens: null, estimated: [] },
  ]);
});

test("requests are summed per person, participant and model, those with most tokens first", () => {
  const sums = new UsageSums();
  const tokens = { inputTokens: 10, outputTokens: 5 };
  sums.note(complete({}, { ...tokens, cachedInputTokens: 4 }));
  sums.note(complete({}, tokens));
  sums.note(complete(bob, { inputTokens: 100 }));
  sums.note(complete({ model: "qwen3" }));
  const ana = { person: "alice", participantId: "ana-llama3" };
  expect(sums.rows()).toEqual([
    {
      ...{ person: "key:5f0c1a2b/bob", participantId: "ana-llama3", model: "llama3" },
      ...{ requests: 1, errors: 0, inputTokens: exactly(100) },
      ...{ outputTokens: unknown, cachedInputTokens: unknown },
    },
    {
      ...{ ...ana, model: "llama3", requests: 2, errors: 0 },
      ...{ inputTokens: exactly(20), outputTokens: exactly(10) },
      // One of the two responses does not say.
      cachedInputTokens: { tokens: 4, worth: "estimate" },
    },
    {
      ...{ ...ana, model: "qwen3", requests: 1, errors: 0 },
      ...{ inputTokens: unknown, outputTokens: unknown, cachedInputTokens: unknown },
    },
  ]);
});

test("an error is a request, and one without a participant names no model", () => {
  const sums = new UsageSums();
  sums.note(aFailure);
  sums.note({ ...aFailure, model: "another" } as HubEvent);
  sums.note({ ...aFailure, participantId: "ana", model: "llama3" } as HubEvent);
  expect(sums.rows()).toMatchObject([
    { person: "-", participantId: "-", model: "-", requests: 2, errors: 2 },
    { person: "-", participantId: "ana", model: "llama3", requests: 1, errors: 1 },
  ]);
});

test("events of an older hub, without a client, count for no person", () => {
  const sums = new UsageSums();
  sums.note(complete({ client: undefined }));
  expect(sums.rows()).toMatchObject([{ person: "-", requests: 1 }]);
});

test("a thousand persons have rows of their own, the rest share those of others", () => {
  const sums = new UsageSums();
  const person = (index: number) => ({ client: { kind: "name", id: `p${index}` } });
  for (let index = 0; index < 1_100; index++) sums.note(complete(person(index)));
  sums.note(complete(person(7)));
  expect(sums.rows()).toHaveLength(1_001);
  expect(sums.rows().slice(0, 2)).toMatchObject([
    { person: "others", requests: 100 },
    { person: "p7", requests: 2 },
  ]);
});

test("participants and models without end share one row", () => {
  const sums = new UsageSums();
  for (let index = 0; index < 10_100; index++) sums.note(complete({ model: `m${index}` }));
  expect(sums.rows()).toHaveLength(10_001);
  expect(sums.rows()[0]).toMatchObject({
    person: "others",
    participantId: "others",
    requests: 100,
  });
});

test("only rows that changed are taken, each once", () => {
  const sums = new UsageSums();
  sums.note(complete());
  sums.note(complete());
  sums.note(complete(bob));
  expect(sums.takeChanged()).toHaveLength(2);
  expect(sums.takeChanged()).toEqual([]);
  sums.note(complete(bob));
  expect(sums.takeChanged()).toMatchObject([{ person: "key:5f0c1a2b/bob", requests: 2 }]);
});
