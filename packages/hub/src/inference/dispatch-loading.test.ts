import type { Readiness } from "@roomhub/protocol";
import { expect, test } from "vitest";
import type { Participant } from "../domain/participant.ts";
import { aParticipant } from "../domain/room.fixture.ts";
import { createBench } from "./dispatch.fixture.ts";
import { chatStream, chunk, done, finish } from "./stream/streams.fixture.ts";

const reply = chatStream([chunk({ content: "Hi" }), finish, done]);

function becomes(participant: Participant, readiness: Readiness, sinceMs: number): void {
  participant.paths.tunnel = { kind: "open", readiness, problem: "", sinceMs };
}

function startRoom() {
  const ana = aParticipant({ id: "ana", model: "llama3", limit: 1 });
  const bench = createBench([ana]);
  return { ...bench, ana, nowMs: bench.deps.nowMs };
}

test("a stream that waits for a model to load gets a comment about it after 5 s, and then its response", () => {
  const { ana, send, pass, call, queues, room, nowMs } = startRoom();
  becomes(ana, "loading", nowMs() - 2_000);
  ana.learned.loadTookMs = 40_000;
  const sent = send({ model: "llama3", stream: true });
  pass(5_000);
  expect(sent.client.isHeadWritten).toBe(false);
  pass(1_000);
  expect(sent.client).toMatchObject({
    status: 200,
    text: ": ana loads llama3, for 8 s so far, 40 s before\n\n",
  });
  becomes(ana, "ready", nowMs());
  queues.wake(room.code);
  call().head();
  call().data(reply);
  call().end();
  expect(sent.client.text).toContain(reply);
  expect(sent.ledger()).toEqual(["llm.request", "llm.complete"]);
});

test("a stream whose own request loads the model gets that comment, too", () => {
  const { ana, send, pass } = startRoom();
  ana.learned.loadedModels = [];
  const sent = send({ model: "llama3", stream: true });
  pass(6_000);
  expect(sent.client.text).toBe(": ana loads llama3\n\n");
});

test.each([
  ["a response that is no stream", { stream: false }, "loading"],
  ["a stream whose model is loaded", { stream: true }, "ready"],
] as const)("%s has no head after 6 s", (_what, options, readiness) => {
  const { ana, send, pass, nowMs } = startRoom();
  becomes(ana, readiness, nowMs());
  const sent = send({ model: "llama3", ...options });
  pass(6_000);
  expect(sent.client.isHeadWritten).toBe(false);
});

test("a model server that says again that it loads is waited for, after the comment as before", () => {
  const { ana, send, pass, call, calls, queues, room, nowMs } = startRoom();
  becomes(ana, "loading", nowMs());
  const sent = send({ model: "llama3", stream: true });
  pass(6_000);
  becomes(ana, "ready", nowMs());
  queues.wake(room.code);
  becomes(ana, "loading", nowMs());
  call().respond(503, '{"error":{"message":"Loading model"}}');
  expect(sent.ending()).toBeUndefined();
  becomes(ana, "ready", nowMs());
  queues.wake(room.code);
  expect(calls).toHaveLength(2);
  call().head();
  call().data(reply);
  call().end();
  expect(sent.client.text).toContain(reply);
});
