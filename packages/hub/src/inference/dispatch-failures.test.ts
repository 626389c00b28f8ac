import { describe, expect, test } from "vitest";
import { aParticipant } from "../domain/room.fixture.ts";
import { createBench, retrySignals, type SendOptions } from "./dispatch.fixture.ts";
import {
  chatStream,
  chunk,
  done,
  finish,
  responsesStream,
  created,
  role,
} from "./stream/streams.fixture.ts";

const json = '{"object":"chat.completion","choices":[]}';
const html = { "content-type": "text/html" };
const two = () => [aParticipant({ id: "ana", limit: 1 }), aParticipant({ id: "bob", limit: 1 })];

function one(options: SendOptions = {}) {
  const bench = createBench([aParticipant({ id: "ana", limit: 1 })]);
  const sent = bench.send(options);
  return { bench, sent, call: bench.call() };
}

describe("a provider that refuses", () => {
  const body =
    '{"error":{"message":"bad sk-CANARY","type":"t","code":"context_length"},"extra":[1]}';

  test.each([400, 404, 413, 422, 429, 418])(
    "with %i: its status, its scrubbed body, its code",
    (status) => {
      const { sent, call } = one({ stream: true });
      call.respond(status, body, { "content-type": "application/json", "retry-after": "7" });
      expect(sent.client).toMatchObject({ status, text: body.replace("sk-CANARY", "[redacted]") });
      expect(retrySignals(sent)).toEqual({ "retry-after": "7" });
      expect(sent.ending()).toMatchObject({
        name: "llm.error",
        stage: "provider",
        code: "context_length",
        error: "bad [redacted]",
        status,
        attempts: 1,
      });
    },
  );

  test.each([408, 409])(
    "with %i: whether SDKs retry is theirs to decide, unless the provider says",
    (status) => {
      const { sent, call } = one();
      call.respond(status, body);
      expect(retrySignals(sent)).toEqual({});
      const other = one();
      other.call.respond(status, body, {
        "content-type": "application/json",
        "x-should-retry": "false",
      });
      expect(retrySignals(other.sent)).toEqual({ "x-should-retry": "false" });
    },
  );

  test.each([401, 403, 407])(
    "the participant's key with %i: 502, naming the participant",
    (status) => {
      const { sent, call } = one();
      call.respond(status, '{"error":{"message":"Incorrect API key: sk-CANARY"}}');
      expect(sent.client.error).toMatchObject({ code: "provider_auth_failed", status: 502 });
      expect(sent.client.error?.message).toContain("ana");
      expect(JSON.stringify([sent.client.error?.message, sent.ending()])).not.toContain("CANARY");
      expect(retrySignals(sent)).toEqual({ "x-should-retry": "false" });
    },
  );

  test.each([
    [500, 502],
    [502, 502],
    [503, 503],
    [504, 504],
    [529, 502],
  ])("with %i, and no other participant: %i", (status, sentStatus) => {
    const { sent, call } = one();
    call.respond(status, '{"error":"out of sk-CANARY"}', {
      "content-type": "application/json",
      "retry-after": "9",
    });
    expect(sent.client.error).toMatchObject({ code: "provider_error", status: sentStatus });
    expect(sent.client.error?.message).toBe(
      `The provider of ana failed (${status}): out of [redacted]`,
    );
    expect(retrySignals(sent)).toEqual({ "retry-after": "9" });
    expect(sent.ending()).toMatchObject({ stage: "provider", code: "provider_error" });
  });

  test("with 501: the hub's own 400, since it does not serve such requests", () => {
    const { sent, call } = one();
    call.respond(501, '{"error":{"message":"This server does not support embeddings"}}');
    expect(sent.client.error).toMatchObject({ code: "unsupported_protocol", status: 400 });
    expect(sent.client.error?.message).toContain("This server does not support embeddings");
    expect(retrySignals(sent)).toEqual({ "x-should-retry": "false" });
    expect(sent.ending()).toMatchObject({ stage: "provider", code: "unsupported_protocol" });
  });

  test("with 500 over the request's own mistake: 400, which SDKs do not repeat", () => {
    const { sent, call } = one();
    const error = { message: "image input is not supported - sk-CANARY", type: "server_error" };
    call.respond(500, JSON.stringify({ error }));
    expect(sent.client.error).toMatchObject({
      code: "provider_error",
      status: 400,
      message: "image input is not supported - [redacted]",
    });
    expect(retrySignals(sent)).toEqual({ "x-should-retry": "false" });
    expect(sent.ending()).toMatchObject({ stage: "provider", status: 400 });
  });

  test.each([
    ["HTML", "<html>nginx</html>", html],
    ["nothing", "", {}],
    ["another shape", '{"detail":"no"}', undefined],
  ])("in %s gets the hub's own message, with its status", (_what, text, headers) => {
    const { sent, call } = one();
    call.respond(404, text, headers);
    expect(sent.client).toMatchObject({ status: 404, text: "" });
    expect(sent.client.error?.message).toBe(
      "The provider responded 404 without a readable message.",
    );
  });

  test("after an early commit is reported by a frame", () => {
    const { bench, sent, call } = one({ stream: true });
    bench.pass(45_001);
    call.respond(404, body);
    expect(sent.client).toMatchObject({ status: 200, isEnded: true });
    expect(sent.client.text).toContain('"message":"bad [redacted]"');
  });

  test("at endless length is read to a bound", () => {
    const { sent, call } = one();
    call.json(400);
    for (let part = 0; part < 100; part++) call.data("x".repeat(10_000));
    call.end();
    expect(sent.client.status).toBe(400);
    expect(sent.client.error?.message.length).toBeLessThan(600);
  });
});

describe("an invalid response", () => {
  const invalid = { code: "provider_invalid_response", status: 502 };

  test.each([101, 204, 301, 302, 307, 99, 700])("has status %i", (status) => {
    const { sent, call } = one({ stream: true });
    call.respond(status, "", { location: "http://elsewhere" });
    expect(sent.client.error).toMatchObject(invalid);
    expect(retrySignals(sent)).toEqual({});
    expect(call.cancelled).toBeDefined();
  });

  test.each([
    ["HTML", "text/html", "<html>"],
    ["JSON that is none", "application/json", "{oops"],
    ["half of JSON", "application/json", '{"choices":['],
    ["an event stream that was not requested", "text/event-stream", chatStream([done])],
  ])("is %s", (_what, type, text) => {
    const { sent, call } = one();
    call.respond(200, text, { "content-type": type });
    expect(sent.client.error).toMatchObject(invalid);
  });

  test("is JSON after a stream was committed early", () => {
    const { bench, sent, call } = one({ stream: true });
    bench.pass(45_001);
    call.respond(200, json);
    expect(sent.client.text).toContain('"code":"provider_invalid_response"');
  });

  test.each([true, false])(
    "is an error in spite of the 200, stream %s; no other participant is tried",
    (stream) => {
      const bench = createBench(two());
      const sent = bench.send({ stream });
      bench.call().respond(200, '{"error":{"message":"model sk-CANARY not loaded"}}');
      expect(sent.client.error).toMatchObject({ code: "provider_error", status: 502 });
      expect(sent.client.error?.message).toContain("model [redacted] not loaded");
      expect(bench.calls).toHaveLength(1);
    },
  );

  test("is longer than the limit: n passes, n + 1 breaks the connection", () => {
    for (const [length, isTooLong] of [
      [100_000, false],
      [100_001, true],
    ] as const) {
      const bench = createBench([aParticipant({ id: "ana" })], { responseBodyBytes: 100_000 });
      const sent = bench.send();
      bench.call().json();
      bench.call().data(`{"choices":"${"x".repeat(80_000)}`);
      bench.call().data(`${"x".repeat(length - 80_014)}"}`);
      if (!isTooLong) bench.call().end();
      expect(sent.client.isDestroyed).toBe(isTooLong);
      expect(sent.ending()).toMatchObject(isTooLong ? { code: "response_too_large" } : {});
    }
  });
});

describe("a stream that dies", () => {
  const start = chatStream([role, chunk({ content: "half an ans" })]);

  test.each([
    ["without a marker", start, start],
    ["in half an event", `${start}data: {"choi`, start],
    ["in half a [DONE]", `${start}data: [DO`, start],
  ])("%s never ends cleanly", (_what, text, relayed) => {
    const { sent, call } = one({ stream: true });
    call.head();
    call.data(text);
    call.end();
    const { text: got } = sent.client;
    expect(got.startsWith(relayed)).toBe(true);
    expect(got.slice(relayed.length)).toMatch(
      /^data: \{"error":\{.*"provider_disconnected"\}\}\n\ndata: \[DONE\]\n\n$/,
    );
    expect(sent.ending()).toMatchObject({ code: "provider_disconnected", stage: "provider" });
  });

  test("with its tunnel says so, even after a finish reason", () => {
    const { sent, call } = one({ stream: true });
    call.head();
    call.data(start + chatStream([finish]));
    call.fail("tunnel_lost", "The tunnel to ana was lost.");
    expect(sent.client.text).toContain('"code":"tunnel_lost"');
    expect(sent.ending()).toMatchObject({
      name: "llm.error",
      stage: "tunnel",
      code: "tunnel_lost",
    });
  });

  test("whose finish reasons are empty texts never ends cleanly", () => {
    const { sent, call } = one({ stream: true });
    call.head();
    call.data(chatStream([role, chunk({ content: "half" }, "")]));
    call.end();
    expect(sent.ending()).toMatchObject({ code: "provider_disconnected" });
  });

  test("of Responses ends with an error, a failed response and [DONE]", () => {
    const { sent, call } = one({ stream: true, surface: "responses" });
    call.head();
    call.data(responsesStream([created]));
    call.fail("provider_disconnected");
    expect(sent.client.text.match(/^event: .*/gm)).toEqual([
      "event: response.created",
      "event: error",
      "event: response.failed",
    ]);
  });

  test("in the provider's own words passes without its secrets, and counts as its failure", () => {
    const { sent, call } = one({ stream: true });
    const text = `${start}data: {"error":{"message":"no memory for sk-CANARY"}}\n\n`;
    call.head();
    call.data(text);
    call.end();
    const scrubbed = text.replace("sk-CANARY", "[redacted]");
    expect(sent.client).toMatchObject({ text: scrubbed, isEnded: true });
    expect(sent.ending()).toMatchObject({
      code: "provider_error",
      error: "no memory for [redacted]",
    });
  });

  test("in the provider's own words without a blank line gets it", () => {
    const { sent, call } = one({ stream: true });
    call.head();
    call.data(`${start}data: {"error":{"message":"no memory"}}`);
    call.end();
    expect(sent.client.text).toMatch(/"no memory"\}\}\n\n$/);
  });

  test("as JSON of which part has left breaks the connection", () => {
    const { sent, call } = one();
    call.json();
    call.data(`{"choices":"${"x".repeat(70_000)}`);
    call.end();
    expect(sent.client).toMatchObject({ status: 200, isDestroyed: true, isEnded: false });
    expect(sent.ending()).toMatchObject({ code: "provider_invalid_response" });
  });
});
