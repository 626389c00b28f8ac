import { ERROR_STATUS, type ErrorCode, type Readiness } from "@roomhub/protocol";
import { describe, expect, test } from "vitest";
import type { Participant } from "../domain/participant.ts";
import { updateTrial } from "../domain/readiness.ts";
import { aParticipant } from "../domain/room.fixture.ts";
import {
  type Bench,
  createBench,
  type FakeCall,
  retrySignals,
  type Sent,
} from "./dispatch.fixture.ts";
import { chatStream, done } from "./stream/streams.fixture.ts";

const json = '{"object":"chat.completion","choices":[]}';
const two = () => [aParticipant({ id: "ana", limit: 1 }), aParticipant({ id: "bob", limit: 1 })];

/** What SDKs get for a failure, however many attempts there were. */
function signalsOf({ client }: Sent): Record<string, string> {
  const { retry } = ERROR_STATUS[client.error?.code ?? "internal_error"];
  return retry === "stop" ? { "x-should-retry": "false" } : {};
}

describe("another attempt", () => {
  type Fault = (call: FakeCall) => void;
  const moves: Record<string, Fault> = {
    "the tunnel was lost": (call) => call.fail("tunnel_lost"),
    "the endpoint cannot be reached": (call) => call.fail("provider_unreachable"),
    "the agent would not take it": (call) => call.fail("provider_error"),
    "the provider refused the key with 401": (call) => call.respond(401, ""),
    "the provider refused the key with 403": (call) => call.respond(403, ""),
    "a proxy refused the key with 407": (call) => call.respond(407, ""),
    "the provider said 502": (call) => call.respond(502, ""),
    "the provider said 503": (call) => call.respond(503, ""),
    "the tunnel was lost in a small JSON response": (call) => {
      call.json();
      call.data("{");
      call.fail("tunnel_lost");
    },
  };
  const stays: Record<string, Fault> = {
    "the provider was too slow": (call) => call.fail("provider_timeout"),
    "the provider said 500": (call) => call.respond(500, ""),
    "the provider said 504": (call) => call.respond(504, ""),
    "the provider hung up": (call) => call.fail("provider_disconnected"),
    "the provider sent garbage": (call) => call.fail("provider_invalid_response"),
    "a stream had begun": (call) => {
      call.head();
      call.fail("tunnel_lost");
    },
  };

  describe.each(Object.entries(moves))("because %s", (_why, fault) => {
    test.each(["*", "any", "model:llama3", "llama3"])("is made elsewhere for %s", (model) => {
      const bench = createBench(two());
      const sent = bench.send({ model });
      const first = bench.call();
      bench.pass(100);
      fault(first);
      expect(bench.calls.map((call) => call.participant.id)).toEqual(["ana", "bob"]);
      bench.pass(100);
      bench.call().respond(200, json);
      expect(sent.client).toMatchObject({ status: 200, text: json });
      expect(sent.client.headers["x-roomhub-attempts"]).toBe("2");
      expect(sent.ledger()).toEqual(["llm.request", "llm.request", "llm.complete"]);
      expect(bench.events.map((event) => ("attempt" in event ? event.attempt : 0))).toEqual([
        1, 2, 0,
      ]);
      expect(sent.ending()).toMatchObject({
        participantId: "bob",
        attempts: 2,
        metrics: { ttftMs: 200, durationMs: 200 },
      });
    });

    test("is not made when the client named the participant", () => {
      const bench = createBench(two());
      const sent = bench.send({ model: "ana" });
      fault(bench.call());
      expect(bench.calls).toHaveLength(1);
      expect(sent.ledger()).toEqual(["llm.request", "llm.error"]);
      expect(retrySignals(sent)).toEqual(signalsOf(sent));
    });

    test("is not made after an early commit", () => {
      const bench = createBench(two());
      const sent = bench.send({ stream: true });
      bench.pass(45_001);
      fault(bench.call());
      expect(bench.calls).toHaveLength(1);
      expect(sent.ledger()).toEqual(["llm.request", "llm.error"]);
    });

    test("that finds no participant reports what happened first", () => {
      const bench = createBench([two()[0]!]);
      const sent = bench.send();
      fault(bench.call());
      const code: ErrorCode | undefined = sent.client.error?.code;
      expect(code).not.toBe("model_not_found");
      expect(retrySignals(sent)).toEqual(signalsOf(sent));
      expect(sent.ending()).toMatchObject({ participantId: "ana", attempts: 1, code });
    });

    test("is made twice at most, and SDKs may retry as after one attempt", () => {
      const bench = createBench(["ana", "bob", "cy", "dee"].map((id) => aParticipant({ id })));
      const sent = bench.send();
      fault(bench.call());
      fault(bench.call());
      fault(bench.call());
      expect(bench.calls.map((call) => call.participant.id)).toEqual(["ana", "bob", "cy"]);
      expect(retrySignals(sent)).toEqual(signalsOf(sent));
      expect(sent.ending()).toMatchObject({ participantId: "cy", attempts: 3 });
    });

    test("that fails with no third participant there reports what happened first", () => {
      const bench = createBench(two());
      const sent = bench.send();
      fault(bench.call());
      fault(bench.call());
      expect(bench.calls).toHaveLength(2);
      expect(retrySignals(sent)).toEqual(signalsOf(sent));
      expect(sent.ending()).toMatchObject({ participantId: "ana", attempts: 2 });
      expect(sent.client.headers["x-roomhub-participant"]).toBe("ana");
    });
  });

  test.each(Object.entries(stays))("is not made because %s", (_why, fault) => {
    const bench = createBench(two());
    const sent = bench.send({ stream: true });
    fault(bench.call());
    expect(bench.calls).toHaveLength(1);
    expect(sent.ledger()).toEqual(["llm.request", "llm.error"]);
  });

  test("of a model name is made even when an offline participant has that id", () => {
    const bench = createBench([
      aParticipant({ id: "llama3", model: "x", status: "offline" }),
      ...two(),
    ]);
    bench.send({ model: "llama3" });
    bench.call().fail("tunnel_lost");
    expect(bench.calls.map((call) => call.participant.id)).toEqual(["ana", "bob"]);
  });

  test("to a path that has just closed reports the first failure", () => {
    const bench = createBench(two());
    const sent = bench.send();
    bench.gone.add("bob");
    bench.call().fail("tunnel_lost");
    expect(sent.client.error?.code).toBe("tunnel_lost");
  });

  test("waits at the head of the queue when the other is busy, and keeps its deadline", () => {
    const bench = createBench(two(), { requestMs: 50_000 });
    const retried = bench.send();
    const other = bench.send();
    const early = bench.send({ address: "early" });
    expect(bench.calls).toHaveLength(2);
    bench.pass(30_000);
    bench.calls[0]?.sink.onFailure({ code: "tunnel_lost", message: "lost" });
    bench.calls[1]?.respond(200, json);
    expect(other.ledger()).toEqual(["llm.request", "llm.complete"]);
    expect(retried.ledger()).toEqual(["llm.request", "llm.request"]);
    expect(early.ledger()).toEqual([]);
    bench.pass(20_001);
    expect(retried.ending()).toMatchObject({ code: "request_timeout", attempts: 2 });
  });

  test("lets go of the first participant's slot only when that is finished", () => {
    const participants = two();
    const bench = createBench(participants);
    bench.send();
    bench.call().sink.onFailure({ code: "provider_error", message: "refused" });
    expect(participants.map((each) => each.load.active)).toEqual([1, 1]);
    bench.calls[0]?.sink.onClosed();
    expect(participants.map((each) => each.load.active)).toEqual([0, 1]);
  });

  test("gets nothing any more from the first", () => {
    const bench = createBench(two());
    const sent = bench.send({ stream: true });
    const first = bench.call();
    first.fail("tunnel_lost");
    first.head();
    first.data(chatStream([done]));
    first.sink.onEnd();
    expect(sent.client.isHeadWritten).toBe(false);
  });

  test("is not made because of a 403 once the participant's credentials have worked", () => {
    const bench = createBench(two());
    for (const model of ["bob", "ana"]) {
      bench.send({ model });
      bench.call().respond(200, json);
    }
    const moderated = bench.send({ model: "llama3" });
    bench.call().respond(403, "");
    expect(bench.calls).toHaveLength(3);
    expect(moderated.ending()).toMatchObject({ code: "provider_auth_failed", attempts: 1 });
  });

  test("is made because of a 403 again once the credentials are others", () => {
    const [ana, bob] = two() as [Participant, Participant];
    const bench = createBench([ana, bob]);
    bench.send({ model: "bob" });
    bench.call().respond(200, json);
    bench.send({ model: "ana" });
    const late = bench.call();
    ana.learned.credentials = { haveWorked: false, trial: undefined };
    late.respond(200, json);
    bench.send({ model: "llama3" });
    bench.call().respond(403, "");
    expect(bench.call().participant).toBe(bob);
  });

  test("keeps what the first provider said of when to come back", () => {
    const bench = createBench(two());
    const sent = bench.send();
    const type = { "content-type": "application/json" };
    bench.call().respond(503, "", { ...type, "retry-after": "9" });
    bench.call().respond(502, "", { ...type, "retry-after": "1" });
    expect(retrySignals(sent)).toEqual({ "retry-after": "9" });
  });

  test("that waits expects nothing of the provider that failed", () => {
    const limits = { queueWaitMs: 2_000_000, firstByteMs: 10_000, streamIdleMs: 10_000 };
    const bench = createBench(two(), limits);
    const sent = bench.send({ stream: true });
    bench.send({ model: "bob" });
    bench.calls[0]?.respond(502, "");
    bench.pass(9_000);
    bench.calls[1]?.head();
    bench.pass(9_000);
    expect(sent.ending()).toBeUndefined();
  });

  test("that waits keeps the client of a stream patient", () => {
    const bench = createBench(two(), { queueWaitMs: 2_000_000 });
    const sent = bench.send({ stream: true });
    bench.send({ model: "bob" });
    bench.calls[0]?.respond(502, "");
    bench.pass(45_001);
    expect(sent.client).toMatchObject({ status: 200, text: ": keepalive\n\n" });
  });
});

describe("a model server with too much to do", () => {
  const again = (bench: Bench, ms: number) => {
    bench.pass(ms);
    bench.queues.wake(bench.room.code);
  };

  test("passes its 503 on at once where no other participant is free, and is waited for by others for 1 s", () => {
    const [ana] = two() as [Participant];
    const bench = createBench([ana, aParticipant({ id: "bob", limit: 1 })]);
    bench.send({ model: "bob" });
    const sent = bench.send({ model: "llama3" });
    bench.call().respond(503, '{"error":{"message":"no slot available"}}');
    expect(sent.client.error).toMatchObject({ code: "provider_error", status: 503 });
    expect(retrySignals(sent)).toEqual({});
    const others = [bench.send({ model: "llama3" }), bench.send({ model: "ana" })];
    again(bench, 999);
    expect(others.map((each) => each.ledger())).toEqual([[], []]);
    again(bench, 1);
    expect(bench.call().participant.id).toBe("ana");
  });

  test.each([
    ["3", 3_000],
    ["3600", 15_000],
  ])("is waited for as long as its retry-after of %s s says, %i ms at most", (seconds, ms) => {
    const [ana] = two() as [Participant];
    const bench = createBench([ana], { queueWaitMs: 60_000 });
    const sent = bench.send();
    bench.call().respond(503, "", { "content-type": "text/plain", "retry-after": seconds });
    expect(retrySignals(sent)).toEqual({ "retry-after": seconds });
    bench.send();
    again(bench, ms - 1);
    expect(bench.calls).toHaveLength(1);
    again(bench, 1);
    expect(bench.calls).toHaveLength(2);
  });

  test("is not waited for when its retry-after is 0", () => {
    const bench = createBench([aParticipant({ id: "ana" })]);
    bench.send();
    bench.call().respond(503, "", { "content-type": "text/plain", "retry-after": "0" });
    bench.send();
    expect(bench.calls).toHaveLength(2);
  });

  test("is waited for no longer when another of its requests succeeds", () => {
    const bench = createBench([aParticipant({ id: "ana", limit: 3 })]);
    bench.send();
    const [running] = bench.calls;
    bench.send();
    bench.call().respond(503, "");
    bench.send();
    expect(bench.calls).toHaveLength(2);
    running?.respond(200, json);
    expect(bench.calls).toHaveLength(3);
  });

  test("is not taken for slow or unreliable", () => {
    const [ana, bob] = two() as [Participant, Participant];
    const bench = createBench([ana, bob]);
    bench.send();
    bench.call().respond(503, "");
    expect(bench.call().participant).toBe(bob);
    expect(ana.learned.pace.isDoubtful(bench.deps.nowMs())).toBe(false);
  });
});

describe("a participant that loads its model", () => {
  /** What its agent reports; the queue wakes at each change. */
  function report(bench: Bench, participant: Participant, readiness: Readiness): void {
    participant.paths.tunnel = { kind: "open", readiness, problem: "", sinceMs: 0 };
    bench.queues.wake(participant.roomCode);
  }

  /** The agent reports it before it passes on the 503. */
  function respondLoading(bench: Bench, call: FakeCall): void {
    report(bench, call.participant, "loading");
    call.respond(503, "");
  }

  test.each(["*", "any", "model:llama3", "llama3", "ana"])(
    "makes a request for %s wait, which is served when it is ready",
    (model) => {
      const [ana] = two() as [Participant];
      const bench = createBench([ana]);
      report(bench, ana, "loading");
      const sent = bench.send({ model });
      expect([bench.calls.length, ana.load.queued]).toEqual([0, 1]);
      bench.pass(20_000);
      report(bench, ana, "ready");
      bench.call().respond(200, json);
      expect(sent.ending()).toMatchObject({ name: "llm.complete", attempts: 1, queueMs: 20_000 });
      expect(ana.load.queued).toBe(0);
    },
  );

  test("makes a stream wait with comments", () => {
    const [ana] = two() as [Participant];
    const bench = createBench([ana]);
    report(bench, ana, "loading");
    const sent = bench.send({ stream: true });
    bench.pass(45_001);
    bench.pass(10_000);
    bench.pass(4_990);
    const waited = ": ana loads llama3, for 46 s so far\n\n";
    expect(sent.client.text).toBe(waited);
    report(bench, ana, "ready");
    bench.call().head();
    bench.call().data(chatStream([done]));
    bench.call().end();
    expect(sent.client.text).toBe(`${waited}${chatStream([done])}`);
  });

  test("is waited for within the limits of the queue", () => {
    const [ana] = two() as [Participant];
    const bench = createBench([ana], { queuePerRoom: 1 });
    report(bench, ana, "loading");
    const waiting = bench.send();
    expect(bench.send().client.error?.code).toBe("queue_full");
    bench.pass(60_000);
    expect(waiting.ending()).toBeUndefined();
    bench.pass(1);
    expect(waiting.client.error).toMatchObject({ code: "queue_timeout", status: 503 });
  });

  test("is waited for no longer when it turns out to need credentials", () => {
    const [ana] = two() as [Participant];
    const bench = createBench([ana]);
    report(bench, ana, "loading");
    const sent = bench.send();
    report(bench, ana, "needs-credentials");
    expect(sent.client.error).toMatchObject({ code: "provider_auth_failed", status: 502 });
    expect(sent.ending()).toMatchObject({ stage: "routing", attempts: 0, participantId: null });
    expect(retrySignals(sent)).toEqual({ "x-should-retry": "false" });
  });

  test.each(["*", "llama3", "ana"])(
    "and responds 503 to a request for %s gets it once more, before later requests",
    (model) => {
      const [ana] = two() as [Participant];
      const bench = createBench([ana]);
      const first = bench.send({ model });
      const later = bench.send({ model });
      respondLoading(bench, bench.call());
      bench.pass(5_000);
      expect(bench.calls).toHaveLength(1);
      report(bench, ana, "ready");
      bench.call().respond(200, json);
      expect(first.ending()).toMatchObject({ name: "llm.complete", attempts: 2, queueMs: 5_000 });
      expect(first.ledger()).toEqual(["llm.request", "llm.request", "llm.complete"]);
      expect(later.ledger()).toEqual(["llm.request"]);
    },
  );

  test("gets the request again until it is ready, as long as requests may wait", () => {
    const [ana] = two() as [Participant];
    const bench = createBench([ana]);
    const sent = bench.send({ model: "ana" });
    for (let count = 0; count < 5; count++) {
      respondLoading(bench, bench.call());
      bench.pass(10_000);
      report(bench, ana, "ready");
    }
    expect(bench.calls).toHaveLength(6);
    respondLoading(bench, bench.call());
    bench.pass(10_001);
    expect(sent.client.error).toMatchObject({ code: "queue_timeout", status: 503 });
    expect(sent.ending()).toMatchObject({ participantId: "ana", attempts: 6 });
  });

  test("gives way to another that is ready", () => {
    const bench = createBench(two());
    const sent = bench.send({ model: "llama3" });
    respondLoading(bench, bench.call());
    bench.call().respond(200, json);
    expect(bench.calls.map((call) => call.participant.id)).toEqual(["ana", "bob"]);
    expect(sent.ending()).toMatchObject({ participantId: "bob", attempts: 2, queueMs: 0 });
  });

  test("may get the request again after another failed too", () => {
    const [ana, bob] = two() as [Participant, Participant];
    const bench = createBench([ana, bob]);
    const sent = bench.send();
    respondLoading(bench, bench.call());
    bench.call().fail("tunnel_lost");
    expect(bench.calls).toHaveLength(2);
    report(bench, ana, "ready");
    bench.call().respond(200, json);
    expect(bench.calls.map((call) => call.participant.id)).toEqual(["ana", "bob", "ana"]);
    expect(sent.ending()).toMatchObject({ participantId: "ana", attempts: 3 });
  });

  test("and goes down while it is waited for leaves the request its first failure", () => {
    const [ana] = two() as [Participant];
    const bench = createBench([ana]);
    const sent = bench.send({ model: "ana" });
    respondLoading(bench, bench.call());
    report(bench, ana, "down");
    expect(sent.client.error).toMatchObject({ code: "provider_error", status: 503 });
    expect(sent.ending()).toMatchObject({ participantId: "ana", attempts: 1 });
  });

  test("after an early commit ends the stream with an error", () => {
    const bench = createBench([two()[0]!]);
    const sent = bench.send({ stream: true });
    bench.pass(45_001);
    respondLoading(bench, bench.call());
    expect(sent.ending()).toMatchObject({ code: "provider_error", attempts: 1 });
    expect(sent.client.text).toContain("data: [DONE]");
  });

  test("is waited for by a request that only it can serve", () => {
    const [ana, bob] = two() as [Participant, Participant];
    const bench = createBench([ana, bob]);
    const maker = bench.send({ model: "ana", surface: "responses" });
    bench.call().respond(200, '{"id":"resp_1","object":"response","output":[]}');
    expect(maker.ledger()).toContain("llm.complete");
    const fields = { previous_response_id: "resp_1" };
    const sent = bench.send({ model: "*", surface: "responses", fields });
    respondLoading(bench, bench.call());
    expect(sent.ending()).toBeUndefined();
    report(bench, ana, "ready");
    bench.call().respond(200, '{"id":"resp_2","object":"response","output":[]}');
    expect(sent.ending()).toMatchObject({ participantId: "ana", attempts: 2 });
  });
});

describe("refused credentials", () => {
  test("are tried by one request when a trial is due", () => {
    const [ana] = two() as [Participant];
    ana.paths.tunnel = {
      kind: "open",
      readiness: "needs-credentials",
      problem: "",
      sinceMs: 1_000,
    };
    updateTrial(ana);
    const bench = createBench([ana]);
    bench.pass(4_999);
    expect(bench.send().client.error?.code).toBe("provider_auth_failed");
    bench.pass(1);
    const trial = bench.send({ model: "ana" });
    const other = bench.send({ model: "ana" });
    expect(bench.calls).toHaveLength(1);
    expect(other.client.error?.code).toBe("provider_auth_failed");
    bench.call().respond(401, "");
    expect(trial.client.error?.code).toBe("provider_auth_failed");
    bench.pass(9_999);
    bench.send();
    expect(bench.calls).toHaveLength(1);
    bench.pass(1);
    bench.send();
    expect(bench.calls).toHaveLength(2);
  });

  test("is made because of a 501, which another model server may implement", () => {
    const bench = createBench(two());
    const sent = bench.send();
    bench.call().respond(501, "");
    expect(bench.calls.map((call) => call.participant.id)).toEqual(["ana", "bob"]);
    bench.call().respond(501, "");
    expect(sent.ending()).toMatchObject({ code: "unsupported_protocol", participantId: "ana" });
    expect(retrySignals(sent)).toEqual({ "x-should-retry": "false" });
  });
});
