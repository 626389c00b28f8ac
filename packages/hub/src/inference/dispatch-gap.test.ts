import { describe, expect, test } from "vitest";
import type { Participant } from "../domain/participant.ts";
import { aParticipant } from "../domain/room.fixture.ts";
import { createBench, type SendOptions } from "./dispatch.fixture.ts";
import { chatStream, chunk, done, finish } from "./stream/streams.fixture.ts";

const text = chatStream([chunk({ content: "one" })]);
const rest = chatStream([chunk({ content: "two" }), finish, done]);

const bob = () => aParticipant({ id: "bob", limit: 1 });

/** A request at ana, whose tunnel has lost its connection: nothing comes from there until it is resumed. */
function inGap(
  options: SendOptions = { stream: true },
  streamed = text,
  others = [] as Participant[],
  waitedMs = 0,
) {
  const ana = aParticipant({ id: "ana", limit: 1 });
  const bench = createBench([ana, ...others]);
  const sent = bench.send(options);
  const call = bench.call();
  if (streamed !== "") {
    call.head();
    call.data(streamed);
  }
  if (waitedMs > 0) bench.pass(waitedMs);
  const before = { readiness: "ready", problem: "", sinceMs: 0 } as const;
  ana.paths.tunnel = { kind: "interrupted", streams: 1, sinceMs: bench.deps.nowMs(), before };
  function resume(): void {
    ana.paths.tunnel = { kind: "open", ...before };
    call.sink.onResumed?.();
    bench.queues.wake(bench.room.code);
  }
  return { bench, ana, sent, call, resume };
}

describe("a stream whose tunnel lost its connection", () => {
  test("keeps its client with comments, goes on where it was, and says how often", () => {
    const { bench, sent, call, resume } = inGap();
    bench.pass(15_000);
    bench.pass(10_000);
    resume();
    resume();
    call.data(rest);
    call.end();
    expect(sent.client.text).toBe(`${text}: keepalive\n\n${rest}`);
    expect(sent.ledger()).toEqual(["llm.request", "llm.complete"]);
    expect(sent.ending()).toMatchObject({ resumes: 2, metrics: { durationMs: 25_000 } });
  });

  test("says nothing of resumes when there was none", () => {
    const { bench, sent, call } = inGap();
    call.data(rest);
    call.end();
    expect(sent.ending()).toMatchObject({ name: "llm.complete", resumes: undefined });
    expect(JSON.stringify(bench.events)).not.toContain("resumes");
  });

  test("fails at once with a client that disconnects, while its slot is held until the agent is back", () => {
    const { bench, ana, sent, call, resume } = inGap();
    const next = bench.send({ model: "ana" });
    bench.pass(5_000);
    sent.dispatch.onGone();
    expect(sent.ending()).toMatchObject({
      name: "llm.error",
      stage: "client",
      code: "client_disconnected",
    });
    expect([call.cancelled === undefined, ana.load.active, bench.calls.length]).toEqual([
      false,
      1,
      1,
    ]);
    resume();
    expect([ana.load.active, bench.calls.length]).toEqual([1, 1]);
    call.sink.onClosed();
    expect([bench.calls.length, next.ledger()]).toEqual([2, ["llm.request"]]);
    expect(sent.ledger()).toEqual(["llm.request", "llm.error"]);
  });

  test("and that has begun is not tried elsewhere, nor one whose head was sent early", () => {
    for (const [streamed, waitedMs] of [
      [text, 0],
      ["", 46_000],
    ] as const) {
      const { bench, sent } = inGap({ stream: true }, streamed, [bob()], waitedMs);
      for (let second = 0; second < 20; second++) bench.pass(1_000);
      expect([sent.ledger(), bench.calls.length]).toEqual([["llm.request"], 1]);
    }
  });

  test("is not tried elsewhere while no other participant is free, and new requests wait for it", () => {
    const { bench, sent, resume } = inGap({ stream: true }, "");
    const waiting = bench.send({ model: "ana" });
    bench.pass(20_000);
    expect([sent.ledger(), waiting.ledger(), bench.calls.length]).toEqual([["llm.request"], [], 1]);
    resume();
    expect(bench.calls).toHaveLength(1);
    bench.call().json();
    bench.call().end();
    expect(waiting.ledger()).toEqual(["llm.request"]);
  });

  test("is no longer waited for than any other queue lasts", () => {
    const { bench } = inGap();
    const waiting = bench.send({ model: "ana" });
    bench.pass(60_001);
    expect(waiting.ending()).toMatchObject({ code: "queue_timeout" });
  });

  test("fails as ever when it does not come back", () => {
    const { bench, sent, call } = inGap();
    bench.pass(30_000);
    call.fail("tunnel_lost");
    expect(sent.ending()).toMatchObject({
      name: "llm.error",
      stage: "tunnel",
      code: "tunnel_lost",
    });
  });
});

describe("a request without a byte whose tunnel lost its connection", () => {
  const seconds = (bench: ReturnType<typeof inGap>["bench"], count: number) => {
    for (let second = 0; second < count; second++) bench.pass(1_000);
  };

  test.each(["*", "llama3", "model:llama3"])(
    "for %s goes elsewhere after 2 s, and its first stream is cancelled",
    (model) => {
      const { bench, ana, sent, call } = inGap({ stream: true, model }, "", [bob()]);
      bench.pass(1_999);
      expect(bench.calls).toHaveLength(1);
      bench.pass(1);
      expect(bench.calls.map(({ participant }) => participant.id)).toEqual(["ana", "bob"]);
      expect([call.cancelled === undefined, ana.load.active]).toEqual([false, 1]);
      bench.call().head();
      bench.call().data(chatStream([chunk({ content: "one" }), finish, done]));
      bench.call().end();
      expect(sent.ending()).toMatchObject({ participantId: "bob", attempts: 2 });
    },
  );

  test("goes elsewhere as soon as another is free, which is looked for every second", () => {
    const { bench, sent } = inGap({ stream: true, model: "llama3" }, "", [bob()]);
    bench.send({ model: "bob" });
    seconds(bench, 9);
    expect(bench.calls).toHaveLength(2);
    bench.call().respond(200, "{}");
    bench.pass(250);
    bench.pass(750);
    expect(bench.calls).toHaveLength(3);
    expect(bench.call().participant.id).toBe("bob");
    expect(sent.ledger()).toEqual(["llm.request", "llm.request"]);
  });

  test("waits when it names the participant, or when only that one can serve it", () => {
    const { bench } = inGap({ stream: true, model: "ana" }, "", [bob()]);
    seconds(bench, 20);
    expect(bench.calls).toHaveLength(1);
  });

  test("stays when the connection is back within 2 s", () => {
    const { bench, call, resume } = inGap({ stream: true, model: "*" }, "", [bob()]);
    bench.pass(1_900);
    resume();
    seconds(bench, 10);
    expect([bench.calls.length, call.cancelled]).toEqual([1, undefined]);
  });
});

test.each([
  ["without a response", "", 600_001, "provider_timeout"],
  ["within one", text, 300_001, "stream_idle_timeout"],
])("the provider's deadlines run on: %s", (_where, streamed, afterMs, code) => {
  const { bench, sent, call } = inGap({ stream: true }, streamed);
  bench.pass(afterMs);
  expect(sent.ending()).toMatchObject({ name: "llm.error", code });
  expect(call.cancelled).toBeDefined();
});
