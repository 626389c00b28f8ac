import type { Limits } from "@roomhub/protocol";
import { describe, expect, test } from "vitest";
import { aParticipant } from "../../domain/room.fixture.ts";
import { createBench, FakeClient, type SendOptions } from "../dispatch.fixture.ts";
import {
  chatStream,
  chunk,
  done,
  finish,
  messagesStream,
  messageStart,
  responsesStream,
} from "../stream/streams.fixture.ts";

const json = '{"object":"chat.completion","choices":[]}';
const text = chatStream([chunk({ content: "a" })]);

function one(options: SendOptions = {}, limits: Partial<Limits> = {}) {
  const participant = aParticipant({ id: "ana", limit: 1 });
  const bench = createBench([participant], limits);
  const sent = bench.send(options);
  return { bench, sent, participant, call: bench.call() };
}

describe("deadlines", () => {
  test("the first byte: at the limit it may still come, a ms later it is 504, with the knob's name", () => {
    const { bench, sent, call } = one();
    bench.pass(600_000);
    expect(sent.ending()).toBeUndefined();
    bench.pass(1);
    expect(sent.client.error).toMatchObject({
      code: "provider_timeout",
      status: 504,
      message: "The provider's first byte took more than 600 s (limit ROOMHUB_FIRST_BYTE_MS).",
    });
    expect(call.cancelled).toBeDefined();
    expect(sent.ending()).toMatchObject({ stage: "provider" });
  });

  test("between two bytes: a frame in a stream, 504 before a head", () => {
    const streaming = one({ stream: true });
    streaming.call.head();
    for (let turn = 0; turn < 4; turn++) {
      streaming.bench.pass(300_000);
      streaming.call.data(text);
    }
    streaming.bench.pass(300_001);
    expect(streaming.sent.client.text).toContain('"code":"stream_idle_timeout"');
    expect(streaming.sent.client.text).toContain("more than 300 s (limit ROOMHUB_STREAM_IDLE_MS)");
    const silent = one();
    silent.call.json();
    silent.bench.pass(300_001);
    expect(silent.sent.client.error?.code).toBe("stream_idle_timeout");
  });

  test("the whole request, both attempts and all waiting included", () => {
    const { bench, sent, call } = one({ stream: true });
    call.head();
    for (let minute = 0; minute < 30; minute++) {
      bench.pass(60_000);
      call.data(text);
    }
    expect(sent.ending()).toBeUndefined();
    bench.pass(1);
    expect(sent.ending()).toMatchObject({ code: "request_timeout" });
    expect(sent.client.text).toContain("more than 1800 s (limit ROOMHUB_REQUEST_MS)");
  });

  test("in the queue: 503, to come back later", () => {
    const { bench, participant } = one();
    const waiting = bench.send();
    bench.pass(60_000);
    expect(waiting.ending()).toBeUndefined();
    bench.pass(1);
    expect(waiting.client.error).toMatchObject({
      code: "queue_timeout",
      status: 503,
      message:
        "No participant became free or ready for more than 60 s (limit ROOMHUB_QUEUE_WAIT_MS).",
    });
    expect(waiting.ending()).toMatchObject({
      stage: "queue",
      queueMs: 60_001,
      participantId: null,
    });
    expect(participant.load.queued).toBe(0);
  });

  test("a client that takes nothing is dropped, and its connection with it", () => {
    const { bench, sent, call } = one({ stream: true });
    call.head();
    sent.client.isBehind = true;
    expect(call.data(text)).toBe(false);
    bench.pass(60_000);
    expect(sent.ending()).toBeUndefined();
    bench.pass(1);
    expect(sent.client).toMatchObject({ isDestroyed: true, text });
    expect(sent.ending()).toMatchObject({ code: "client_stalled", stage: "client", status: 499 });
    expect(call.cancelled).toBeDefined();
  });

  test("a client that does not take the last bytes is dropped too, drained or not", () => {
    for (const drains of [false, true]) {
      const client = new FakeClient();
      client.isSlowToFinish = true;
      const { bench, sent, call } = one({ client });
      call.respond(200, json);
      bench.pass(30_000);
      if (drains) sent.dispatch.onDrain();
      bench.pass(60_001);
      expect(sent.ending()).toMatchObject({ code: "client_stalled" });
    }
  });

  test("a provider is not blamed for the time its reader was behind", () => {
    const { bench, sent, call } = one({ stream: true }, { streamIdleMs: 10_000 });
    call.head();
    sent.client.isBehind = true;
    call.data(text);
    bench.pass(40_000);
    sent.client.isBehind = false;
    sent.dispatch.onDrain();
    expect(call.resumeCount).toBe(1);
    bench.pass(10_000);
    expect(sent.ending()).toBeUndefined();
    bench.pass(1);
    expect(sent.ending()).toMatchObject({ code: "stream_idle_timeout" });
  });

  test("are the limits that were set", () => {
    const { bench, sent } = one({}, { firstByteMs: 1_500 });
    bench.pass(1_501);
    expect(sent.client.error?.message).toContain("more than 1.5 s");
  });
});

describe("a long wait for a stream", () => {
  test("is committed after 45 s with a head and a comment, and goes on as a stream", () => {
    const { bench, sent, call } = one({ stream: true });
    bench.pass(45_000);
    expect(sent.client.isHeadWritten).toBe(false);
    bench.pass(1);
    expect(sent.client).toMatchObject({ status: 200, text: ": keepalive\n\n" });
    expect(sent.client.headers).toMatchObject({
      "content-type": "text/event-stream",
      "x-roomhub-participant": "ana",
      "x-accel-buffering": "no",
    });
    bench.pass(15_000);
    call.head();
    call.data(text + chatStream([finish, done]));
    call.end();
    expect(sent.client.text).toBe(
      `: keepalive\n\n: keepalive\n\n${text}${chatStream([finish, done])}`,
    );
    expect(sent.ending()).toMatchObject({ name: "llm.complete" });
  });

  test.each([
    ["chat/completions", "chat", /^: keepalive\n\ndata: \{"error":.*\n\ndata: \[DONE\]\n\n$/],
    ["responses", "responses", /^: keepalive\n\nevent: error\ndata: .*\n\ndata: \[DONE\]\n\n$/],
    ["messages", "messages", /^: keepalive\n\nevent: error\ndata: \{"type":"error",.*\n\n$/],
  ])("that fails after the commit fails by a frame: %s", (surface, _marker, expected) => {
    const { bench, sent, call } = one({ stream: true, surface });
    bench.pass(45_001);
    call.fail("tunnel_lost");
    expect(sent.client.text).toMatch(expected);
    expect(sent.ending()).toMatchObject({ code: "tunnel_lost" });
  });

  test("in the queue is committed too, before a participant is known", () => {
    const { bench } = one();
    const waiting = bench.send({ stream: true });
    bench.pass(45_001);
    expect(waiting.client.headers).not.toHaveProperty("x-roomhub-participant");
    bench.pass(15_000);
    expect(waiting.client.text).toContain('"code":"queue_timeout"');
  });

  test("is not committed when that is switched off, nor for JSON", () => {
    const off = one({ stream: true }, { earlyCommitMs: 0 });
    const plain = one();
    for (const { bench, sent } of [off, plain]) {
      bench.pass(50_000);
      expect(sent.client.isHeadWritten).toBe(false);
    }
  });

  test("is over with the provider's head: slow JSON is never dressed as a stream", () => {
    const { bench, sent, call } = one({ stream: true });
    bench.pass(40_000);
    call.json();
    bench.pass(40_000);
    expect(sent.client.isHeadWritten).toBe(false);
    call.data(json);
    call.end();
    expect(sent.client).toMatchObject({ status: 200, text: json });
  });
});

describe("comments", () => {
  test("come after 15 s without a byte, between events only", () => {
    const { bench, sent, call } = one({ stream: true });
    call.head();
    call.data(text);
    bench.pass(14_999);
    expect(sent.client.text).toBe(text);
    bench.pass(1);
    expect(sent.client.text).toBe(`${text}: keepalive\n\n`);
    const long = "a".repeat(20_000);
    call.data(`data: {"${long}`);
    bench.pass(60_000);
    expect(sent.client.text).toBe(`${text}: keepalive\n\ndata: {"${long}`);
    call.data('":1}\n\n');
    bench.pass(15_000);
    expect(sent.client.text).toBe(`${text}: keepalive\n\ndata: {"${long}":1}\n\n: keepalive\n\n`);
  });

  test("come ahead of half an event that is held back", () => {
    const { bench, sent, call } = one({ stream: true });
    call.head();
    call.data(`${text}data: {"half`);
    bench.pass(15_000);
    bench.pass(15_000);
    call.data('":1}\n\n');
    const comments = ": keepalive\n\n".repeat(2);
    expect(sent.client.text).toBe(`${text}${comments}data: {"half":1}\n\n`);
  });

  test("are pings in a messages stream that is made from chat, once it has begun", () => {
    const comment = ": keepalive\n\n";
    const ping = 'event: ping\ndata: {"type":"ping"}\n\n';
    const begun = messagesStream([messageStart]);
    for (const [headers, expected] of [
      [{ "x-roomhub-translated": "chat" }, ping],
      [{}, comment],
    ] as const) {
      const { bench, sent, call } = one({ stream: true, surface: "messages" });
      call.sink.onHead({
        status: 200,
        headers: { ...headers, "content-type": "text/event-stream" },
      });
      bench.pass(15_000);
      expect(sent.client.text).toBe(comment);
      call.data(begun);
      bench.pass(15_000);
      expect(sent.client.text).toBe(comment + begun + expected);
    }
  });

  test("never come into an event too long to be held", () => {
    const { bench, sent, call } = one({ stream: true });
    call.head();
    call.data(`data: {"x":"${"y".repeat(20_000)}`);
    bench.pass(60_000);
    expect(sent.client.text).not.toContain("keepalive");
  });

  test("never come into JSON, whatever was requested", () => {
    const { bench, sent, call } = one({ stream: true });
    const long = `{"choices":"${"x".repeat(70_000)}"}`;
    call.json();
    call.data(long.slice(0, 69_000));
    bench.pass(60_000);
    call.data(long.slice(69_000));
    call.end();
    expect(sent.client.text).toBe(long);
  });

  test("never come to a client that is behind", () => {
    const { bench, sent, call } = one({ stream: true });
    call.head();
    sent.client.isBehind = true;
    call.data(text);
    bench.pass(30_000);
    expect(sent.client.text).toBe(text);
  });
});

describe("102 Processing", () => {
  test("is offered every 60 s until there is a head", () => {
    const { bench, sent, call } = one();
    bench.pass(60_000);
    expect(sent.client.processingCount).toBe(0);
    bench.pass(1);
    bench.pass(59_000);
    expect(sent.client.processingCount).toBe(1);
    bench.pass(1_001);
    expect(sent.client.processingCount).toBe(2);
    call.respond(200, json);
    expect(sent.client.processingCount).toBe(2);
  });

  test("is offered to requests that wait in the queue, and to none when switched off", () => {
    const { bench } = one({}, { queueWaitMs: 90_000 });
    const waiting = bench.send();
    bench.pass(60_001);
    expect(waiting.client.processingCount).toBe(1);
    const off = one({}, { informationalMs: 0 });
    off.bench.pass(120_000);
    expect(off.sent.client.processingCount).toBe(0);
  });
});

describe("back-pressure", () => {
  test("is passed on to the provider, and taken back when the client has drained", () => {
    const { sent, call } = one({ stream: true });
    call.head();
    expect(call.data(text)).toBe(true);
    sent.client.isBehind = true;
    expect(call.data(text)).toBe(false);
    sent.client.isBehind = false;
    sent.dispatch.onDrain();
    expect(call.resumeCount).toBe(1);
    expect(call.data(text)).toBe(true);
    expect(sent.client.text).toBe(text.repeat(3));
  });

  test("ends with the request: a late drain has no effect", () => {
    const { sent, call } = one({ stream: true });
    call.fail("tunnel_lost");
    sent.dispatch.onDrain();
    expect(call.resumeCount).toBe(0);
  });
});

test("the time to the first content is the second attempt's, when the first said nothing useful", () => {
  const bench = createBench([aParticipant({ id: "ana" }), aParticipant({ id: "bob" })]);
  const sent = bench.send();
  bench.call().json();
  bench.call().data("{");
  bench.pass(1_000);
  bench.call().fail("tunnel_lost");
  bench.pass(1_000);
  bench.call().respond(200, json);
  expect(sent.ending()).toMatchObject({ metrics: { ttftMs: 2_000 } });
});

test("a stream without any content has its first byte's time", () => {
  const { bench, sent, call } = one({ stream: true, surface: "responses" });
  bench.pass(100);
  call.head();
  call.data(responsesStream([{ type: "response.completed", response: {} }]));
  bench.pass(100);
  call.end();
  expect(sent.ending()).toMatchObject({ metrics: { ttftMs: 100, durationMs: 200 } });
});
