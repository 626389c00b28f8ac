import { describe, expect, test } from "vitest";
import { aParticipant } from "../domain/room.fixture.ts";
import { createBench } from "./dispatch.fixture.ts";
import { chatStream, chunk, done, usageChunk } from "./stream/streams.fixture.ts";

const usageCapable = { capabilities: { streamUsage: "supported" } as never };

/** Participants that another hub owns. */
function remoteBench(...ids: string[]) {
  const bench = createBench(ids.map((id) => aParticipant({ id, limit: 1, ...usageCapable })));
  for (const id of ids) bench.remote.add(id);
  return bench;
}

describe("a request to a participant of another hub", () => {
  test("is an attempt once that hub has admitted it", () => {
    const bench = remoteBench("ana");
    const sent = bench.send();
    expect(sent.ledger()).toEqual([]);
    bench.call().admit();
    expect(sent.ledger()).toEqual(["llm.request"]);
    bench.call().respond(200, "{}");
    expect(sent.ledger()).toEqual(["llm.request", "llm.complete"]);
    expect(sent.ending()).toMatchObject({ attempts: 1 });
  });

  test("carries the client's own body, and where model and defaults go", () => {
    const bench = remoteBench("ana");
    bench.send({ model: "ana", fields: { temperature: 0.5 }, hops: ["boot0"] });
    const { request, body } = bench.call();
    expect(body).toBe('{"model":"ana","stream":false,"messages":[],"temperature":0.5}');
    expect(request.headers["x-roomhub-hop"]).toBeUndefined();
    expect(request.forward).toEqual({
      requestId: "req_1",
      capability: "chatCompletions",
      hops: ["boot0", "boot1"],
      remainingMs: bench.deps.limits.requestMs,
      mayRequestUsage: false,
      layout: {
        bodyStart: 1,
        members: [
          { key: "model", start: 9, end: 14 },
          { key: "temperature", start: 58, end: 61 },
        ],
      },
    });
  });

  test("is routed again when that hub refuses it, and the refusal is no attempt", () => {
    const bench = remoteBench("ana", "bob");
    const sent = bench.send();
    const [ana, bob] = [...bench.room.participants.values()];
    expect(bench.call().participant).toBe(ana);
    ana!.limit = 0;
    bench.call().turnAway();
    expect(bench.call().participant).toBe(bob);
    bench.call().admit();
    bench.call().respond(200, "{}");
    expect(sent.ledger()).toEqual(["llm.request", "llm.complete"]);
    expect(sent.ending()).toMatchObject({ attempts: 1, participantId: "bob" });
    expect([ana!.active, bob!.active]).toEqual([0, 0]);
  });

  test("waits when its participant is full by what the refusal says, until it is not", () => {
    const bench = remoteBench("ana");
    const sent = bench.send();
    const [ana] = [...bench.room.participants.values()];
    ana!.limit = 0;
    bench.call().turnAway();
    expect([bench.queues.sizeOf(bench.room.code), bench.calls.length]).toEqual([1, 1]);
    ana!.limit = 1;
    bench.queues.wake(bench.room.code);
    bench.call().admit();
    bench.call().respond(200, "{}");
    expect(sent.client.status).toBe(200);
  });

  test("fails once its participant's hub has refused it five times though it seemed free", () => {
    const bench = remoteBench("ana");
    const sent = bench.send();
    for (let n = 0; n < 5; n++) bench.call().turnAway("unroutable");
    expect(bench.calls).toHaveLength(5);
    expect(sent.client.error).toMatchObject({
      code: "participant_offline",
      message: "ana is unroutable",
    });
    expect(sent.ledger()).toEqual(["llm.error"]);
  });

  test("is tried elsewhere when the link is lost before the head, and fails when it is lost later", () => {
    const bench = remoteBench("ana", "bob");
    const sent = bench.send({ stream: true });
    bench.call().fail("peer_unavailable");
    bench.call().admit();
    bench.call().head();
    bench.call().data(chatStream([chunk({ content: "a" })]));
    bench.call().fail("peer_unavailable");
    expect(sent.ledger()).toEqual(["llm.request", "llm.error"]);
    expect(sent.client.text).toContain("peer_unavailable");
    expect(sent.ending()).toMatchObject({ stage: "tunnel", attempts: 1 });
  });

  test("hides the usage that the owner asked for, and only that", () => {
    for (const requestsUsage of [true, false]) {
      const bench = remoteBench("ana");
      const sent = bench.send({ stream: true, requestsStreamUsage: true });
      expect(bench.call().request.forward?.mayRequestUsage).toBe(true);
      bench.call().admit(requestsUsage);
      bench.call().head();
      bench.call().data(chatStream([chunk({ content: "a" })]));
      bench.call().data(chatStream([usageChunk]));
      bench.call().data(chatStream([done]));
      bench.call().end();
      expect(sent.client.text.includes('"usage":{')).toBe(!requestsUsage);
      expect(sent.ending()).toMatchObject({ metrics: { outputTokens: 7 } });
    }
  });

  test("goes there once more without the usage when the provider refuses that, as one attempt", () => {
    const bench = remoteBench("ana");
    const sent = bench.send({ stream: true, requestsStreamUsage: true });
    bench.call().admit(true);
    bench.call().respond(400, '{"error":{"message":"unknown field stream_options"}}');
    expect(bench.calls).toHaveLength(2);
    expect(bench.call().request.forward?.mayRequestUsage).toBe(false);
    bench.call().admit();
    bench.call().respond(200, `${chatStream([chunk({ content: "a" })])}${chatStream([done])}`, {
      "content-type": "text/event-stream",
    });
    expect(sent.ledger()).toEqual(["llm.request", "llm.complete"]);
  });

  test("is cancelled when its client leaves before it is admitted", () => {
    const bench = remoteBench("ana");
    const sent = bench.send();
    sent.dispatch.onGone();
    expect(bench.call().cancelled).toBeDefined();
    bench.call().admit();
    expect(sent.ledger()).toEqual(["llm.error"]);
  });
});

describe("a response that was made through another hub", () => {
  const asking = (found: boolean) => {
    const bench = createBench([aParticipant({ id: "ana" }), aParticipant({ id: "bob" })]);
    const questions: string[] = [];
    bench.deps.peers = {
      ...{ loadChanged() {}, measured() {}, noted() {}, placed() {}, responseMade() {} },
      findMaker: (room, responseId) => {
        questions.push(responseId);
        const maker = found ? room.participants.get("bob") : undefined;
        if (maker !== undefined) bench.deps.responseOwners.remember(room, responseId, maker);
        return Promise.resolve(maker);
      },
    };
    const fields = { previous_response_id: "resp_1", input: "go on" };
    const sent = bench.send({ surface: "responses", fields });
    return { bench, sent, questions };
  };

  test("is continued by its maker, once another hub has named it", async () => {
    const { bench, questions } = asking(true);
    expect(bench.calls).toEqual([]);
    await Promise.resolve();
    expect(bench.call().participant.id).toBe("bob");
    bench.send({ surface: "responses", fields: { previous_response_id: "resp_1" } });
    expect([bench.calls.length, questions]).toEqual([2, ["resp_1"]]);
  });

  test("is not found when no hub names its maker", async () => {
    const { sent } = asking(false);
    await Promise.resolve();
    expect(sent.client.error?.code).toBe("previous_response_not_found");
  });

  test("is not waited for by a client that has left", async () => {
    const { bench, sent } = asking(true);
    sent.dispatch.onGone();
    await Promise.resolve();
    expect([bench.calls, sent.ledger()]).toEqual([[], ["llm.error"]]);
  });
});
