import { array, assert, constantFrom, property } from "fast-check";
import { describe, expect, test } from "vitest";
import { aParticipant } from "../domain/room.fixture.ts";
import { HubError } from "../errors.ts";
import type { ModelRequest } from "./request/inference-request.ts";
import { createBench, type FakeCall, FakeClient, type BenchEvent } from "./dispatch.fixture.ts";
import * as streams from "./stream/streams.fixture.ts";

const { chatStream, responsesStream, chunk, completed, created, done, finish, role } = streams;
const { textDelta, usageChunk } = streams;
const ana = () => aParticipant({ id: "ana", limit: 1 });
const chat = chatStream([role, chunk({ content: "hi" }), finish, usageChunk, done]);
const json =
  '{"object":"chat.completion","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":4}}';

function complete(event: BenchEvent | undefined) {
  if (event?.name !== "llm.complete") throw new Error(`it ended with ${event?.name ?? "nothing"}`);
  return event;
}

function failure(event: BenchEvent | undefined) {
  if (event?.name !== "llm.error") throw new Error(`it ended with ${event?.name ?? "nothing"}`);
  return event;
}

describe("the request's body", () => {
  const requestingAgain = (request: ModelRequest) =>
    expect(() => request.requestFor(ana(), [], false));

  test("is released with the first event of a stream: there will be no other attempt", () => {
    const bench = createBench([ana()]);
    const { request } = bench.send({ stream: true });
    bench.call().head();
    bench.call().data(": comment\n\n");
    requestingAgain(request).not.toThrow();
    bench.call().data("data: {}\n\n");
    requestingAgain(request).toThrow("after its body was released");
  });

  test("is kept until the end of a response that another attempt may still replace", () => {
    const bench = createBench([ana()]);
    const { request } = bench.send();
    bench.call().head(200, { "content-type": "application/json" });
    requestingAgain(request).not.toThrow();
    bench.call().data(json);
    bench.call().end();
    requestingAgain(request).toThrow("after its body was released");
  });

  describe("when it is long", () => {
    const fields = { messages: "x".repeat(100_000) };
    /** but for the few bytes that were put in place of the client's */
    const isGivenBack = ({ parts }: FakeCall) =>
      parts.reduce((sum, { length }) => sum + length, 0) < 100;

    test("gives its memory back at its end, once its path reads it no more", () => {
      const bench = createBench([ana()]);
      bench.send({ fields });
      const call = bench.call();
      call.isBodyTaken = true;
      call.head(200, { "content-type": "application/json" });
      call.data(json);
      expect(isGivenBack(call)).toBe(false);
      call.end();
      expect(isGivenBack(call)).toBe(true);
    });

    test("gives it back when the response begins to stream, unless its path still reads it", () => {
      for (const isBodyTaken of [true, false]) {
        const bench = createBench([ana()]);
        bench.send({ fields, stream: true });
        const call = bench.call();
        call.isBodyTaken = isBodyTaken;
        call.head();
        call.data("data: {}\n\n");
        expect(isGivenBack(call)).toBe(isBodyTaken);
      }
    });

    test("is sent whole in the next attempt", () => {
      const bench = createBench([ana(), aParticipant({ id: "bob" })]);
      bench.send({ fields });
      const failed = bench.call();
      failed.isBodyTaken = true;
      failed.fail("tunnel_lost");
      const next = bench.call();
      expect(next.participant).not.toBe(failed.participant);
      expect(next.body).toContain("x".repeat(100_000));
      next.isBodyTaken = true;
      next.respond(200, json);
      expect([isGivenBack(failed), isGivenBack(next)]).toEqual([true, true]);
    });

    test("is left to the collector while a failed attempt may still read it", () => {
      const bench = createBench([ana(), aParticipant({ id: "bob" })]);
      bench.send({ fields });
      bench.call().fail("provider_unreachable");
      const next = bench.call();
      next.isBodyTaken = true;
      next.respond(200, json);
      expect(isGivenBack(next)).toBe(false);
    });
  });
});

const alice = { kind: "name", id: "alice" } as const;

describe("a complete response", () => {
  test("as a stream: the bytes unchanged, one request event, one complete event", () => {
    const bench = createBench([ana()]);
    const { client, ledger, ending, settledCount } = bench.send({
      ...{ model: "llama3", stream: true },
      identity: alice,
    });
    bench.pass(40);
    bench.call().head();
    bench.call().data(chatStream([role]));
    bench.pass(60);
    bench.call().data(chat.slice(chatStream([role]).length));
    bench.pass(900);
    bench.call().end();
    expect(client).toMatchObject({ status: 200, text: chat, isEnded: true });
    expect(client.headers).toMatchObject({
      "content-type": "text/event-stream",
      "x-request-id": "req_1",
      "x-roomhub-participant": "ana",
      "x-roomhub-attempts": "1",
    });
    expect(ledger()).toEqual(["llm.request", "llm.complete"]);
    expect(settledCount()).toBe(1);
    expect(bench.events[0]).toEqual({
      name: "llm.request",
      requestId: "req_1",
      participantId: "ana",
      model: "llama3",
      protocol: "chatCompletions",
      selector: "llama3",
      client: alice,
      attempt: 1,
    });
    expect(complete(ending())).toEqual({
      name: "llm.complete",
      requestId: "req_1",
      participantId: "ana",
      model: "llama3",
      protocol: "chatCompletions",
      selector: "llama3",
      client: alice,
      attempts: 1,
      queueMs: 0,
      metrics: {
        ttftMs: 100,
        durationMs: 1_000,
        inputTokens: 5,
        outputTokens: 7,
        totalTokens: 12,
        tokensPerSecond: 7,
      },
    });
  });

  test("as JSON: whole, with a length, and measured to its first byte", () => {
    const bench = createBench([ana()]);
    const { client, ending } = bench.send();
    bench.pass(500);
    bench.call().json();
    bench.call().data(json.slice(0, 9));
    bench.pass(1_500);
    bench.call().data(json.slice(9));
    expect(client.isHeadWritten, "small ones wait until they are whole").toBe(false);
    bench.call().end();
    expect(client).toMatchObject({ status: 200, text: json });
    expect(complete(ending()).metrics).toEqual({
      ttftMs: 500,
      durationMs: 2_000,
      inputTokens: 1,
      outputTokens: 4,
      totalTokens: 5,
      tokensPerSecond: 2,
    });
  });

  test("of Responses: nothing is added to a stream that has its terminal event", () => {
    const bench = createBench([ana()]);
    const text = responsesStream([created, textDelta, completed()]);
    const { client, ending } = bench.send({ stream: true, surface: "responses" });
    bench.call().head();
    bench.call().data(text);
    bench.call().end();
    expect(client.text).toBe(text);
    expect(complete(ending()).protocol).toBe("openResponses");
  });

  test("of chat gets the [DONE] that a provider left out, and its last blank line", () => {
    for (const [text, added] of [
      [chatStream([finish]), "data: [DONE]\n\n"],
      [chatStream([finish]).trimEnd(), "\n\ndata: [DONE]\n\n"],
    ] as const) {
      const bench = createBench([ana()]);
      const { client, ending } = bench.send({ stream: true });
      bench.call().head();
      bench.call().data(text);
      bench.call().end();
      expect(client.text).toBe(text + added);
      complete(ending());
    }
  });

  test("of Responses gets the last blank line, without which no client reads the event", () => {
    const bench = createBench([ana()]);
    const text = responsesStream([created, completed()]).trimEnd();
    const { client, ending } = bench.send({ stream: true, surface: "responses" });
    bench.call().head();
    bench.call().data(text);
    bench.call().end();
    expect(client.text).toBe(`${text}\n\n`);
    complete(ending());
  });

  test("is complete only once the last byte is with the client's socket", () => {
    const bench = createBench([ana()]);
    const client = new FakeClient();
    client.isSlowToFinish = true;
    const { ledger } = bench.send({ client });
    bench.call().respond(200, json);
    expect(ledger()).toEqual(["llm.request"]);
    client.handOver?.();
    expect(ledger()).toEqual(["llm.request", "llm.complete"]);
  });

  test("in JSON to a client that requested a stream passes when it has no error", () => {
    const bench = createBench([ana()]);
    const { client, ending } = bench.send({ stream: true });
    bench.call().respond(200, json);
    expect(client).toMatchObject({ status: 200, text: json });
    expect(client.headers["content-type"]).toBe("application/json");
    complete(ending());
  });

  test("whose tunnel was lost after [DONE] is complete", () => {
    for (const [surface, text] of [
      ["chat/completions", chat],
      ["responses", responsesStream([created, completed()])],
    ] as const) {
      const bench = createBench([ana()]);
      const { client, ending } = bench.send({ stream: true, surface });
      bench.call().head();
      bench.call().data(text);
      bench.call().fail("tunnel_lost");
      expect(client).toMatchObject({ text, isEnded: true });
      complete(ending());
    }
  });

  test("leaves with its own status and the provider's headers that may pass", () => {
    const bench = createBench([ana()]);
    const { client } = bench.send();
    const headers = { "content-type": "application/json", "openai-model": "m", server: "x" };
    bench.call().respond(201, json, headers);
    expect(client.status).toBe(201);
    expect(client.headers).toMatchObject({ "openai-model": "m" });
    expect(client.headers).not.toHaveProperty("server");
  });
});

describe("what the provider is sent", () => {
  test("is its own model name, its defaults, and the way the request came", () => {
    const bench = createBench([aParticipant({ id: "ana", model: "q3", config: { seed: 7 } })]);
    bench.send({ model: "ana", hops: ["other"], stream: true });
    const { request, body } = bench.call();
    expect(body).toBe('{"seed":7,"model":"q3","stream":true,"messages":[]}');
    expect(request).toMatchObject({
      method: "POST",
      path: "/chat/completions",
      protocol: "chatCompletions",
      isStream: true,
      headers: { accept: "text/event-stream", "x-roomhub-hop": "other,boot1" },
    });
  });

  test.each([
    ["this hub's own id", ["boot1"]],
    ["four hubs", ["a", "b", "c", "d"]],
  ])("is nothing when the request already passed %s", (_what, hops) => {
    const bench = createBench([ana()]);
    const { client, ending } = bench.send({ hops });
    expect(client.error).toMatchObject({ code: "routing_loop", status: 400, stage: "routing" });
    expect(failure(ending()).stage).toBe("routing");
    expect(bench.calls).toEqual([]);
  });

  test("three other hubs are not yet a loop", () => {
    const bench = createBench([ana()]);
    bench.send({ hops: ["a", "b", "c"] });
    expect(bench.calls).toHaveLength(1);
  });
});

describe("a request that no participant can take", () => {
  test.each([
    ["unknown", {}, "nobody", "model_not_found", 404],
    ["offline", { status: "offline" }, "ana", "participant_offline", 503],
    [
      "unable",
      { capabilities: { openResponses: "unknown", chatCompletions: "unsupported" } },
      "ana",
      "unsupported_protocol",
      400,
    ],
  ] as const)(
    "is refused at once with each participant's reason: %s",
    (_what, fields, model, code, status) => {
      const bench = createBench([aParticipant({ id: "ana", ...fields })]);
      const { client, ledger, ending, settledCount } = bench.send({ model });
      expect(client.error).toMatchObject({ code, status, stage: "routing", param: "model" });
      expect(client.error?.participants).toHaveLength(1);
      expect(client.headers["x-request-id"]).toBe("req_1");
      expect(ledger()).toEqual(["llm.error"]);
      expect(failure(ending())).toMatchObject({
        participantId: null,
        nickname: null,
        endpoint: null,
        model,
        selector: model,
        stage: "routing",
        code,
        attempts: 0,
        queueMs: 0,
      });
      expect([settledCount(), bench.inFlight.size]).toEqual([1, 0]);
    },
  );

  test("whose path was just lost is refused as offline", () => {
    const bench = createBench([ana()]);
    bench.gone.add("ana");
    const { client, ledger } = bench.send();
    expect(client.error?.code).toBe("participant_offline");
    expect(ledger()).toEqual(["llm.error"]);
  });
});

describe("a bug", () => {
  test("in the path says nothing about itself, is reported, and keeps no slot", () => {
    const participant = ana();
    const bench = createBench([participant]);
    bench.deps.upstreamFor = () => ({
      open() {
        throw new TypeError("secret detail");
      },
    });
    const { client, ending } = bench.send();
    expect(client.error).toMatchObject({ code: "internal_error", status: 500 });
    expect(client.error?.message).not.toContain("secret");
    expect(failure(ending()).stage).toBe("hub");
    expect(bench.bugs).toHaveLength(1);
    expect(participant.load.active).toBe(0);
  });
});

describe("a slot", () => {
  test("is taken while the provider works and free only when it is finished", () => {
    const participant = ana();
    const bench = createBench([participant]);
    const { dispatch, settledCount } = bench.send();
    expect(participant.load.active).toBe(1);
    dispatch.onGone();
    expect([settledCount(), participant.load.active]).toEqual([1, 1]);
    expect(bench.call().cancelled).toContain("client disconnected");
    bench.call().sink.onClosed();
    bench.call().sink.onClosed();
    expect(participant.load.active).toBe(0);
  });

  test("goes to a waiting request, and the event has the waiting time", () => {
    const participant = ana();
    const bench = createBench([participant]);
    bench.send();
    const waiting = bench.send();
    expect([waiting.ledger(), participant.load.queued]).toEqual([[], 1]);
    bench.pass(2_500);
    bench.call().respond(200, json);
    expect([waiting.ledger(), participant.load.queued]).toEqual([["llm.request"], 0]);
    bench.call().respond(200, json);
    expect(complete(waiting.ending()).queueMs).toBe(2_500);
    expect(waiting.client.headers["x-roomhub-queue-ms"]).toBe("2500");
  });

  test("is waited for by so many requests, and the next is refused with a retry time", () => {
    const participant = ana();
    const bench = createBench([participant], { queuePerRoom: 1 });
    bench.send();
    bench.send();
    const { client, ending } = bench.send();
    expect(client.error).toMatchObject({ code: "queue_full", status: 429, stage: "queue" });
    expect(failure(ending()).queueMs).toBe(0);
    expect(participant.load.queued).toBe(1);
  });

  test("is no longer waited for when its participant goes", () => {
    const participant = ana();
    const bench = createBench([participant]);
    bench.send();
    const { client } = bench.send();
    participant.presence.status = "offline";
    bench.queues.wake("ABC234");
    expect(client.error?.code).toBe("participant_offline");
    expect(participant.load.queued).toBe(0);
  });
});

describe("a client that goes away", () => {
  test.each(["chat/completions", "responses"])("cancels at every stage of %s", (surface) => {
    for (const stream of [true, false]) {
      for (const stage of ["queued", "waiting", "begun"]) {
        const participant = ana();
        const bench = createBench([participant]);
        const first = stage === "queued" ? bench.send() : undefined;
        const { dispatch, ledger, ending, settledCount } = bench.send({ stream, surface });
        if (stage === "begun") {
          if (stream) bench.call().head();
          else bench.call().json();
          bench.call().data(stream ? "data: {}\n\n" : "{");
        }
        dispatch.onGone();
        dispatch.onGone();
        expect(failure(ending())).toMatchObject({
          code: "client_disconnected",
          stage: "client",
          status: 499,
          participantId: first === undefined ? "ana" : null,
        });
        expect(ledger()).toHaveLength(first === undefined ? 2 : 1);
        expect(settledCount()).toBe(1);
        expect(bench.call().cancelled === undefined).toBe(first !== undefined);
        bench.call().sink.onClosed();
        expect([participant.load.active, participant.load.queued]).toEqual([0, 0]);
        expect(bench.inFlight.size).toBe(first === undefined ? 0 : 1);
      }
    }
  });

  test("before the last byte was handed over has no complete response", () => {
    const bench = createBench([ana()]);
    const client = new FakeClient();
    client.isSlowToFinish = true;
    const { dispatch, ledger } = bench.send({ client });
    bench.call().respond(200, json);
    dispatch.onGone();
    client.handOver?.();
    expect(ledger()).toEqual(["llm.request", "llm.error"]);
  });
});

describe("a hub that stops", () => {
  test("cuts a stream with a frame, a request without a response with 503, and counts both", () => {
    const bench = createBench([aParticipant({ id: "ana" })]);
    const streaming = bench.send({ stream: true });
    bench.call().head();
    bench.call().data(chatStream([role]));
    const silent = bench.send();
    const error = new HubError("hub_shutting_down", "The hub stopped.");
    expect(bench.inFlight.cutAll(error)).toBe(2);
    expect(streaming.client.text).toContain('"code":"hub_shutting_down"');
    expect(streaming.client.text).toMatch(/data: \[DONE\]\n\n$/);
    expect(silent.client.error).toBe(error);
    for (const { ending } of [streaming, silent]) expect(failure(ending()).stage).toBe("hub");
    expect(bench.calls.every((call) => call.cancelled === "The hub stopped.")).toBe(true);
  });

  test("does not write into a response that is only being handed over", () => {
    for (const stream of [true, false]) {
      const bench = createBench([ana()]);
      const client = new FakeClient();
      client.isSlowToFinish = true;
      const { ending } = bench.send({ client, stream });
      if (stream) bench.call().respond(200, chat, { "content-type": "text/event-stream" });
      else bench.call().respond(200, json);
      bench.inFlight.cutAll(new HubError("hub_shutting_down", "The hub stopped."));
      expect(client).toMatchObject({ text: stream ? chat : json, isDestroyed: true });
      expect(failure(ending()).code).toBe("hub_shutting_down");
    }
  });

  test("waits until nothing runs", async () => {
    const bench = createBench([ana()]);
    await bench.inFlight.emptied();
    bench.send();
    const emptied = bench.inFlight.emptied();
    bench.call().respond(200, json);
    await emptied;
    expect(bench.inFlight.size).toBe(0);
  });
});

test("in whatever order things happen, each request ends once and all counters are back at 0", () => {
  const steps = constantFrom(
    "head",
    "json",
    "refuse",
    "fail 503",
    "text",
    "finish",
    "done",
    "half",
    "end",
    "tunnel_lost",
    "provider_timeout",
    "closed",
    "gone",
    "drain",
    "behind",
    "second",
    "minute",
    "hour",
    "cut",
    "send",
    "send stream",
    "hand over",
    "offline",
  );
  assert(
    property(array(steps, { maxLength: 30 }), (order) => {
      const participants = [ana(), aParticipant({ id: "bob", limit: 1 })];
      const bench = createBench(participants);
      const sent = [bench.send({ stream: true }), bench.send(), bench.send({ model: "llama3" })];
      for (const client of sent.map((one) => one.client))
        client.isSlowToFinish = order.length % 2 === 0;
      const ended = new Set<unknown>();
      const closed = new Set<unknown>();
      for (const [index, step] of order.entries()) {
        const call = bench.calls[index % Math.max(1, bench.calls.length)];
        const one = sent[index % sent.length];
        if (call === undefined || one === undefined) continue;
        // An upstream says nothing after its end, its failure or a cancel.
        const isTalking = !ended.has(call) && call.cancelled === undefined && !closed.has(call);
        if (isTalking && step === "head") call.head();
        if (isTalking && step === "json") call.json();
        if (isTalking && step === "refuse") call.json(400);
        if (isTalking && step === "fail 503") call.json(503);
        if (isTalking && step === "text") call.data(chatStream([chunk({ content: "a" })]));
        if (isTalking && step === "finish") call.data(chatStream([finish]));
        if (isTalking && step === "done") call.data(chatStream([done]));
        if (isTalking && step === "half") call.data('data: {"x');
        if (isTalking && step === "end") {
          ended.add(call);
          call.sink.onEnd();
        }
        if (isTalking && (step === "tunnel_lost" || step === "provider_timeout")) {
          ended.add(call);
          call.sink.onFailure({ code: step, message: step });
        }
        if (step === "closed" && !isTalking) {
          closed.add(call);
          call.sink.onClosed();
        }
        if (step === "gone" && one.settledCount() === 0) one.dispatch.onGone();
        if (step === "behind") one.client.isBehind = true;
        if (step === "drain") {
          one.client.isBehind = false;
          one.dispatch.onDrain();
        }
        if (step === "second") bench.pass(1_000);
        if (step === "minute") bench.pass(61_000);
        if (step === "hour") bench.pass(3_600_000);
        if (step === "cut") one.dispatch.cut(new HubError("hub_shutting_down", "stop"));
        if (step === "send") sent.push(bench.send({ model: "ana" }));
        if (step === "send stream") sent.push(bench.send({ stream: true, surface: "responses" }));
        if (step === "hand over") one.client.handOver?.();
        if (step === "offline") {
          participants[1]!.presence.status = "offline";
          bench.queues.wake("ABC234");
        }
      }
      while (bench.inFlight.size > 0) bench.pass(3_600_000);
      // Each close may let one more go that waited.
      for (let index = 0; index < bench.calls.length; index++) bench.calls[index]?.sink.onClosed();
      for (const { ledger, settledCount } of sent) {
        expect(settledCount()).toBe(1);
        const names = ledger();
        expect(names.filter((name) => name !== "llm.request")).toHaveLength(1);
        expect(names.at(-1)).not.toBe("llm.request");
        expect(names.length).toBeLessThanOrEqual(3);
      }
      expect(bench.bugs).toEqual([]);
      for (const {
        load: { active, queued },
      } of participants)
        expect([active, queued]).toEqual([0, 0]);
    }),
    { numRuns: 150 },
  );
});
