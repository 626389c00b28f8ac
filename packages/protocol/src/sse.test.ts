import * as fc from "fast-check";
import { expect, test } from "vitest";
import { EVENT_NAMES, spellEventName } from "./event.ts";
import {
  createSseReader,
  encodeSseComment,
  encodeSseEvent,
  encodeSseRetry,
  type SseMessage,
} from "./sse.ts";

function read(pieces: string[]) {
  const messages: SseMessage[] = [];
  const retries: number[] = [];
  const reader = createSseReader(
    (message) => messages.push(message),
    (retryMs) => retries.push(retryMs),
  );
  for (const piece of pieces) reader.feed(piece);
  return { messages, retries };
}

test("an event is its id, its name, one line of data and a blank line", () => {
  expect(encodeSseEvent("boot-1", "llm.request", '{"a":1}')).toBe(
    'id: boot-1\nevent: llm.request\ndata: {"a":1}\n\n',
  );
});

test("any payload is parsed as the same single event", () => {
  const name = fc.constantFrom(...EVENT_NAMES);
  const value = fc.oneof(fc.string({ unit: "binary" }), fc.jsonValue({ stringUnit: "binary" }));
  fc.assert(
    fc.property(name, value, (event, payload) => {
      const data = JSON.stringify({ payload });
      expect(read([encodeSseEvent("b-1", event, data)]).messages).toEqual([
        { id: "b-1", event, data },
      ]);
    }),
    { numRuns: 1_000 },
  );
});

test.each([
  "\n",
  "\r",
  "\r\n",
  "\n\nevent: room.created\ndata: {}\n\n",
  "\u0000",
  "\u2028",
  "\ufeff",
  "\ud800",
])("%j in a payload does not start another field", (text) => {
  const data = JSON.stringify({ text });
  const { messages } = read([encodeSseEvent("b-1", "llm.error", data)]);
  expect(messages).toEqual([{ id: "b-1", event: "llm.error", data }]);
  expect(JSON.parse(messages[0]!.data)).toEqual({ text });
});

test("events are the same in one chunk and cut at every character", () => {
  const wire =
    encodeSseRetry(2_000) +
    encodeSseComment("keepalive") +
    encodeSseEvent("b-1", "room:created", '{"n":"é🐻"}') +
    encodeSseEvent("b-2", "llm:error", "{}");
  const expected = {
    messages: [
      { id: "b-1", event: "room:created", data: '{"n":"é🐻"}' },
      { id: "b-2", event: "llm:error", data: "{}" },
    ],
    retries: [2_000],
  };
  expect(read([wire])).toEqual(expected);
  expect(read(wire.split(""))).toEqual(expected);
  for (let cut = 0; cut <= wire.length; cut++) {
    expect(read([wire.slice(0, cut), wire.slice(cut)])).toEqual(expected);
  }
});

test("an incomplete event is not emitted", () => {
  expect(read(["id: b-1\nevent: llm.error\ndata: {}\n"]).messages).toEqual([]);
});

test("comments are not emitted", () => {
  expect(read([encodeSseComment("keepalive")])).toEqual({ messages: [], retries: [] });
});

test("event names have a dot on management paths and a colon on room-scoped paths", () => {
  expect(EVENT_NAMES.map((name) => spellEventName(name, "dot"))).toEqual([
    "room.created",
    "participant.joined",
    "participant.updated",
    "participant.left",
    "participant.offline",
    "llm.request",
    "llm.complete",
    "llm.error",
  ]);
  expect(EVENT_NAMES.map((name) => spellEventName(name, "colon"))).toEqual([
    "room:created",
    "participant:joined",
    "participant:updated",
    "participant:left",
    "participant:offline",
    "llm:request",
    "llm:complete",
    "llm:error",
  ]);
});
