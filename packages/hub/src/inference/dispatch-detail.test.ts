import { array, assert, boolean, constantFrom, integer, property, record } from "fast-check";
import { describe, expect, test } from "vitest";
import { aParticipant } from "../domain/room.fixture.ts";
import { createBench, type SendOptions } from "./dispatch.fixture.ts";
import { listRequests } from "./in-flight.ts";
import { chatStream, chunk, done, finish, role } from "./stream/streams.fixture.ts";

const word = chatStream([chunk({ content: "a" })]);

function startWatched(limit = 1) {
  const bench = createBench([
    aParticipant({ id: "ana", limit }),
    aParticipant({ id: "ben", limit }),
  ]);
  bench.detail.isWatched = true;
  return bench;
}

describe("request.queued", () => {
  test("has the place by turns, and is sent once per stay in the queue", () => {
    const bench = startWatched();
    const send = (address: string, options: SendOptions = {}) =>
      bench.send({ model: "ana", address, ...options });
    send("192.0.2.1");
    expect(bench.shown).toEqual([]);
    for (let count = 0; count < 3; count++) send("192.0.2.1");
    const session = "0123456789abcdef";
    const identity = { kind: "name", id: "bob" } as const;
    send("192.0.2.2", { session, identity });
    const common = { selector: "ana", protocol: "chatCompletions" };
    const places = bench.shown.map(([name, payload]) => [name, (payload as { place: 1 }).place]);
    expect(places).toEqual([1, 2, 3, 1].map((place) => ["queued", place]));
    expect(bench.shown.at(-1)?.[1]).toEqual({
      ...{ ...common, requestId: "req_5", client: identity, conversation: "01234567", place: 1 },
    });
  });

  test("is not sent by a request that the full queue refuses", () => {
    const bench = createBench([aParticipant({ id: "ana", limit: 1 })], { queuePerRoom: 0 });
    bench.detail.isWatched = true;
    bench.send();
    bench.send();
    expect(bench.shown).toEqual([]);
  });
});

describe("request.first", () => {
  test("of a stream is sent with its first content, not before, and once", () => {
    const bench = startWatched();
    bench.send({ stream: true });
    const call = bench.call();
    bench.pass(100);
    call.head();
    call.data(chatStream([role]));
    expect(bench.shown).toEqual([]);
    bench.pass(23);
    call.data(word);
    call.data(word);
    expect(bench.shown).toEqual([
      ["first", { requestId: "req_1", participantId: call.participant.id, ttftMs: 123 }],
    ]);
    call.data(chatStream([finish, done]));
    call.end();
    expect(bench.shown).toHaveLength(1);
  });

  test("of a response that is no stream is sent with its first byte, and for each participant", () => {
    const bench = startWatched();
    const sent = bench.send();
    const first = bench.call();
    bench.pass(7);
    first.json();
    first.data('{"object":');
    first.fail("tunnel_lost");
    const second = bench.call();
    expect(second).not.toBe(first);
    bench.pass(3);
    second.respond(200, '{"object":"chat.completion"}');
    expect(sent.ledger()).toEqual(["llm.request", "llm.request", "llm.complete"]);
    expect(bench.shown).toEqual([
      ["first", { requestId: "req_1", participantId: first.participant.id, ttftMs: 7 }],
      ["first", { requestId: "req_1", participantId: second.participant.id, ttftMs: 10 }],
    ]);
  });

  test("is not sent for a provider's error", () => {
    const bench = startWatched();
    bench.send();
    bench.call().respond(400, '{"error":{"message":"bad"}}');
    expect(bench.shown).toEqual([]);
  });
});

describe("request.progress", () => {
  const progress = (outputTokens: number) => ["progress", { requestId: "req_1", outputTokens }];

  function startStream() {
    const bench = startWatched();
    bench.send({ stream: true });
    const call = bench.call();
    call.head();
    call.data(word);
    bench.shown.splice(0);
    return { ...bench, call };
  }

  test("counts the events with content, at most once a second", () => {
    const { pass, call, shown } = startStream();
    for (let tenths = 0; tenths < 35; tenths++) {
      pass(100);
      call.data(word);
    }
    expect(shown).toEqual([progress(11), progress(21), progress(31)]);
  });

  test("counts an event once, however it is cut", () => {
    const { pass, call, shown } = startStream();
    for (const byte of word.repeat(5)) call.data(byte);
    pass(1_000);
    call.data(word);
    expect(shown).toEqual([progress(7)]);
  });

  test("is not repeated for what is no content", () => {
    const { pass, call, shown } = startStream();
    pass(1_000);
    call.data(word);
    pass(1_000);
    call.data(": still here\n\n");
    expect(shown).toEqual([progress(2)]);
  });

  test("that was dropped is sent with the next chunk", () => {
    const { pass, call, shown, deps } = startStream();
    const { requestProgress } = deps.emit;
    deps.emit.requestProgress = () => false;
    pass(1_000);
    call.data(word);
    deps.emit.requestProgress = requestProgress;
    call.data(word);
    call.data(word);
    expect(shown).toEqual([progress(3)]);
  });

  test("of a stream that began unwatched counts from when it is watched, and begins without request.first", () => {
    const bench = startWatched();
    bench.detail.isWatched = false;
    bench.send({ stream: true });
    const call = bench.call();
    call.head();
    for (let count = 0; count < 5; count++) {
      bench.pass(1_000);
      call.data(word);
    }
    expect(bench.shown).toEqual([]);
    bench.detail.isWatched = true;
    for (let tenths = 0; tenths < 11; tenths++) {
      call.data(word);
      bench.pass(100);
    }
    expect(bench.shown).toEqual([progress(11)]);
  });
});

test("a stream is the same for its client however it is cut and watched; what is shown of it goes up, a second apart", () => {
  const stream = chatStream([
    role,
    ...Array.from({ length: 8 }, () => chunk({ content: "é" })),
    finish,
    done,
  ]);
  const step = record({
    bytes: integer({ min: 1, max: 200 }),
    ms: constantFrom(0, 1, 400, 1_000),
    isWatched: boolean(),
  });
  assert(
    property(array(step, { minLength: 1, maxLength: 40 }), (steps) => {
      const bench = startWatched();
      const { client, ledger } = bench.send({ stream: true });
      const call = bench.call();
      call.head();
      const shownAtMs: number[] = [];
      let rest = Buffer.from(stream);
      for (const { bytes, ms, isWatched } of steps) {
        bench.detail.isWatched = isWatched;
        bench.pass(ms);
        const before = bench.shown.length;
        call.sink.onData(rest.subarray(0, bytes));
        rest = rest.subarray(bytes);
        expect(bench.shown.length - before).toBeLessThanOrEqual(isWatched ? 1 : 0);
        if (bench.shown.length > before) shownAtMs.push(bench.deps.nowMs());
      }
      if (rest.length > 0) call.sink.onData(rest);
      call.end();
      expect(client.text).toBe(stream);
      expect(ledger()).toEqual(["llm.request", "llm.complete"]);
      const gaps = shownAtMs.slice(1).map((ms, index) => ms - (shownAtMs[index] ?? 0));
      expect(gaps.filter((gap) => gap < 1_000)).toEqual([]);
      const names = bench.shown.map(([name]) => name);
      expect(names.lastIndexOf("first")).toBeLessThanOrEqual(0);
      const counts = bench.shown.flatMap(([, payload]) =>
        "outputTokens" in payload ? [Number(payload.outputTokens)] : [],
      );
      expect(counts).toEqual([...new Set(counts)].sort((one, other) => one - other));
      expect(Math.max(0, ...counts)).toBeLessThanOrEqual(8);
    }),
  );
});

describe("the list of requests", () => {
  function startListed(...ids: string[]) {
    const bench = createBench(ids.map((id) => aParticipant({ id, limit: 1, model: "m" })));
    const list = () => listRequests({ dispatch: bench.deps, wallMs: () => 1_000_000 }, "ABC234");
    return { ...bench, list };
  }

  const common = {
    selector: "*",
    protocol: "chatCompletions",
    client: { kind: "none", id: "" },
  } as const;

  test("has each request where it is, the oldest first, until it ends", () => {
    const { send, call, pass, list } = startListed("ana");
    expect(list()).toEqual([]);
    send({ stream: true, session: "0123456789abcdef" });
    pass(500);
    send({ address: "192.0.2.1" });
    pass(250);
    send({ address: "192.0.2.1" });
    const at = { ...common, requestId: "req_1", participantId: "ana", model: "m", attempt: 1 };
    const first = { ...at, conversation: "01234567", startedAt: 999_250 };
    const second = { ...common, requestId: "req_2", attempt: 0, startedAt: 999_750 };
    const third = { ...common, requestId: "req_3", attempt: 0, startedAt: 1_000_000 };
    expect(list()).toEqual([
      { ...first, state: "running" },
      { ...second, state: "queued", place: 1 },
      { ...third, state: "queued", place: 2 },
    ]);

    const begun = call();
    begun.head();
    begun.data(word);
    expect(list()[0]).toEqual({ ...first, state: "streaming", firstAt: 1_000_000 });
    begun.data(chatStream([finish, done]));
    begun.end();
    expect(list()).toEqual([
      { ...second, state: "running", participantId: "ana", model: "m", attempt: 1 },
      { ...third, state: "queued", place: 1 },
    ]);
  });

  test("has the tokens that were counted", () => {
    const { send, call, detail, list } = startListed("ana");
    send({ stream: true });
    call().head();
    call().data(word);
    detail.isWatched = true;
    expect(list()[0]).not.toHaveProperty("outputTokens", expect.anything());
    call().data(word);
    call().data(word);
    expect(list()[0]).toMatchObject({ outputTokens: 2 });
  });

  test("has no participant of a request that waits for its next attempt", () => {
    const { send, calls, list } = startListed("ana", "ben");
    for (let count = 0; count < 3; count++) send({ model: "m" });
    expect(list()).toMatchObject([
      ...[{ state: "running" }, { state: "running" }, { state: "queued", place: 1 }],
    ]);
    calls[0]?.sink.onFailure({ code: "tunnel_lost", message: "it was lost" });
    expect(list()).toMatchObject([
      { requestId: "req_1", state: "queued", place: 1, attempt: 1 },
      { requestId: "req_2", state: "running", attempt: 1 },
      { requestId: "req_3", state: "queued", place: 2, attempt: 0 },
    ]);
    expect(list()[0]).not.toHaveProperty("participantId");
  });

  test("has only the room's own requests", () => {
    const { send, deps } = startListed("ana");
    send();
    const wallMs = () => 0;
    expect(listRequests({ dispatch: deps, wallMs }, "XYZ987")).toEqual([]);
  });
});
