import { describe, expect, test } from "vitest";
import { aParticipant } from "../domain/room.fixture.ts";
import { createBench, type SendOptions } from "./dispatch.fixture.ts";
import { chatStream, chunk, done, finish } from "./stream/streams.fixture.ts";

const json = '{"object":"chat.completion","choices":[]}';
const refusal = JSON.stringify({
  error: {
    code: 400,
    message: "request (1550 tokens) exceeds the available context size (1024 tokens)",
    type: "exceed_context_size_error",
    n_prompt_tokens: 1550,
    n_ctx: 1024,
  },
});
/** as clients recognise it */
const recognisable = refusal.replace('"code":400', '"code":"context_length_exceeded"');
const tooManyRequested = JSON.stringify({
  error: {
    message:
      "This model's maximum context length is 4096 tokens. However, you requested 8100 tokens (100 in the messages, 8000 in the completion).",
    code: "context_length_exceeded",
  },
});
const reply = chatStream([chunk({ content: "Hi" }), finish, done]);
const event = (data: string) => `data: ${data}\n\n`;
const text = (words: number) => ({ messages: [{ role: "user", content: "word ".repeat(words) }] });
const long = text(1_500);
/** longer than 1,024 tokens of any tokenizer */
const tooLong = text(2_000);

function startRoom(ids = ["small", "large"]) {
  const bench = createBench(ids.map((id) => aParticipant({ id, model: "m", limit: 4 })));
  const send = (fields: Record<string, unknown> = long, options: SendOptions = {}) =>
    bench.send({ model: "m", fields, ...options });
  const served = () => bench.calls.map((call) => call.participant.id);
  /** A long prompt has found out that small refuses it. */
  function learn(body = refusal) {
    send();
    bench.call().respond(400, body);
    bench.call().respond(200, json);
    bench.calls.length = 0;
  }
  return { ...bench, send, served, learn };
}

describe("a request that is longer than a participant's context", () => {
  test.each(["m", "*", "model:m"])("moves to another participant for %s", (model) => {
    const room = startRoom();
    const sent = room.send(long, { model });
    room.call().respond(400, refusal);
    expect(room.served()).toEqual(["small", "large"]);
    room.call().respond(200, json);
    expect(sent.client).toMatchObject({ status: 200, text: json });
    expect(sent.ledger()).toEqual(["llm.request", "llm.request", "llm.complete"]);
  });

  test("moves when the error is the first event of a stream, wherever the event is cut", () => {
    const bytes = event(refusal);
    for (let cut = 0; cut <= bytes.length; cut++) {
      const room = startRoom();
      const sent = room.send(long, { stream: true });
      const first = room.call();
      first.head();
      first.data(bytes.slice(0, cut));
      first.data(bytes.slice(cut));
      expect(room.served()).toEqual(["small", "large"]);
      expect(first.cancelled).toBeDefined();
      room.call().head();
      room.call().data(reply);
      room.call().end();
      expect(sent.client.text).toBe(reply);
      expect(sent.ledger().at(-1)).toBe("llm.complete");
    }
  });

  test("moves after an early commit, since only comments have passed", () => {
    const room = startRoom();
    const sent = room.send(long, { stream: true });
    room.pass(46_000);
    expect(sent.client.isHeadWritten).toBe(true);
    room.call().respond(400, refusal);
    room.call().head();
    room.call().data(reply);
    room.call().end();
    expect(sent.client.text).toContain(reply);
    expect(sent.client.text).not.toContain("exceed");
  });

  test("gets the error of a stream that has had content", () => {
    const room = startRoom();
    const sent = room.send(long, { stream: true });
    room.call().head();
    room.call().data(event('{"choices":[{"delta":{"content":"Hi"}}]}') + event(refusal));
    room.call().end();
    expect(room.served()).toEqual(["small"]);
    expect(sent.client.text).toContain("exceed_context_size_error");
  });

  test("waits for a participant at capacity, and does not return to the small one", () => {
    const room = startRoom();
    room.room.participants.get("large")!.load.active = 4;
    room.send();
    room.call().respond(400, refusal);
    expect(room.served()).toEqual(["small"]);
    room.room.participants.get("large")!.load.active = 0;
    room.queues.wake(room.room.code);
    expect(room.served()).toEqual(["small", "large"]);
  });

  test("gets the server's own error, with OpenAI's code for it, when there is no other participant", () => {
    const room = startRoom(["small"]);
    for (let turn = 0; turn < 2; turn++) {
      const sent = room.send();
      room.call().respond(400, refusal);
      expect(sent.client).toMatchObject({ status: 400, text: recognisable });
    }
    const stream = room.send(long, { stream: true });
    room.call().respond(200, event(refusal), { "content-type": "text/event-stream" });
    expect(stream.client.text).toBe(event(recognisable));
  });

  test("gets the server's own error when it names the participant", () => {
    const room = startRoom();
    room.learn();
    const sent = room.send(long, { model: "small" });
    room.call().respond(400, refusal);
    expect(room.served()).toEqual(["small"]);
    expect(sent.client).toMatchObject({ status: 400, text: recognisable });
  });

  test("gets the third server's error after three attempts", () => {
    const room = startRoom(["a", "b", "c", "d"]);
    const sent = room.send();
    for (let attempt = 0; attempt < 3; attempt++) room.call().respond(400, refusal);
    expect(room.served()).toEqual(["a", "b", "c"]);
    expect(sent.client).toMatchObject({ status: 400, text: recognisable });
  });
});

describe("the context that a refusal names", () => {
  test("keeps prompts from the participant that are too long by any tokenizer, and no shorter ones", () => {
    const room = startRoom();
    room.learn();
    expect(room.room.participants.get("small")?.learned.context).toEqual({
      ...{ tokens: 1_024, from: "learned" },
    });
    room.send(tooLong, { model: "*" });
    room.send(tooLong, { model: "model:m" });
    expect(room.served()).toEqual(["large", "large"]);
    room.send(long, { model: "*" });
    expect(room.served().at(-1)).toBe("small");
  });

  test("orders participants by a model's name as its tokens were counted", () => {
    const room = startRoom();
    room.learn();
    room.send();
    expect(room.served()).toEqual(["large"]);
    room.room.participants.get("large")!.load.active = 4;
    room.send();
    expect(room.served()).toEqual(["large", "small"]);
  });

  test("does not count pictures as text", () => {
    const room = startRoom();
    room.learn();
    const url = `data:image/png;base64,${"iVBORw0K".repeat(50_000)}`;
    room.send({ messages: [{ content: [{ image_url: { url } }] }] }, { model: "*" });
    expect(room.served()).toEqual(["small"]);
  });

  test("is learned from an error about max_tokens, too", () => {
    const room = startRoom();
    room.learn(tooManyRequested);
    expect(room.room.participants.get("small")?.learned.usableTokens).toBe(4_096);
  });

  test("ends after 10 minutes", () => {
    const room = startRoom();
    room.learn();
    room.pass(600_000);
    room.send(tooLong, { model: "*" });
    expect(room.served()).toEqual(["small"]);
  });

  test("ends with a success that is longer", () => {
    const room = startRoom();
    room.learn();
    room.send(tooLong, { model: "small" });
    room.call().respond(200, '{"usage":{"prompt_tokens":1600},"choices":[]}');
    room.send(tooLong, { model: "*" });
    expect(room.served()).toEqual(["small", "small"]);
  });

  test("does not hold for a participant that joined again", () => {
    const room = startRoom();
    room.learn();
    room.room.participants.set("small", aParticipant({ id: "small", model: "m", limit: 4 }));
    room.send(tooLong, { model: "*" });
    expect(room.served().filter((id) => id === "small")).toHaveLength(1);
  });
});

test.each(["m", "*"])(
  "a conversation that grew beyond the context leaves for good, for %s",
  (model) => {
    const room = startRoom();
    room.send(text(900), { model, session: "s" });
    room.call().respond(200, json);
    room.send(long, { model, session: "s" });
    room.call().respond(400, refusal);
    room.call().respond(200, json);
    room.send(text(1_600), { model, session: "s" });
    room.call().respond(200, json);
    // The same without numbers to learn a bound from.
    room.pass(600_001);
    room.send(text(1_700), { model, session: "s" });
    expect(room.served()).toEqual(["small", "small", "large", "large", "large"]);
  },
);

test("a refusal ends that a participant is tried first", () => {
  const room = startRoom();
  const large = room.room.participants.get("large");
  large?.learned.pace.noteFirst("whole", { promptBytes: 8_000, coldBytes: 8_000 }, 400, 1_000);
  large?.learned.pace.noteFirst("whole", { promptBytes: 1_000, coldBytes: 1_000 }, 50, 1_000);
  room.send();
  room.call().respond(400, '{"error":{"message":"messages[0] is not supported"}}');
  room.send({ messages: "another prompt ".repeat(500) });
  expect(room.served()).toEqual(["small", "large"]);
});
