import { array, assert, constantFrom, integer, property } from "fast-check";
import { describe, expect, test } from "vitest";
import { cutBy } from "./cuts.fixture.ts";
import { eventsIn, run, verdictOf } from "./observe.fixture.ts";
import * as streams from "./streams.fixture.ts";

const { chatStream, chunk, completed, created, done, finish, messagesStream } = streams;
const { messageStop, responsesStream, role, usageChunk } = streams;

/** From far shorter than the tail to far longer than the hold. */
const lengths = [10, 2_900, 3_000, 3_072, 3_100, 6_000, 6_200, 15_000, 16_300, 17_000, 70_000];

describe("a sign of the end counts only in a well-formed event of its own", () => {
  const cases = [
    ["responses", "response.completed", responsesStream([completed()])],
    [
      "responses",
      "response.completed without its name",
      responsesStream([completed()], { hasEventLines: false }),
    ],
    ["chat", "a finish reason", chatStream([finish])],
    ["chat", "[DONE]", chatStream([done])],
    ["messages", "message_stop", messagesStream([messageStop])],
  ] as const;

  test.each(cases)("in %s %s is none when glued to half a line", (marker, _sign, sign) => {
    for (const length of lengths) {
      for (const half of [`data: ${"y".repeat(length)}`, `data: {"x":"${"y".repeat(length)}`]) {
        for (const glue of ["", "\n"]) {
          const text = half + glue + sign;
          for (const cut of [[text.length], [1_000], [2_000, 50], [length]]) {
            expect(verdictOf(marker, text, cut).isComplete).toBe(false);
          }
        }
      }
    }
  });

  test.each(cases)("in %s %s is one behind such a line that was closed", (marker, _sign, sign) => {
    for (const length of lengths) {
      const text = `data: ${"y".repeat(length)}\n\n${sign}`;
      for (const cut of [[text.length], [1_000], [2_000, 50], [length]]) {
        expect(verdictOf(marker, text, cut).isComplete).toBe(true);
      }
    }
  });

  test("however long the event is and wherever its sign stands", () => {
    for (const length of lengths) {
      const pad = "x".repeat(length);
      for (const data of [
        `{"type":"response.completed","pad":"${pad}"}`,
        `{"pad":"${pad}","type":"response.completed"}`,
      ]) {
        for (const [text, isComplete] of [
          [`data: ${data}\n\n`, true],
          [`id: 1\r\ndata:${data}\r\n\r\n`, true],
          [`data: {"pad":\ndata: ${data}\ndata: }\n\n`, false],
          [`data:\ndata: ${data}\ndata\n\n`, true],
          [`data: ${data}}\n\n`, false],
          [`data: [${data}]\n\n`, false],
          [`data: {"inner":${data}}\n\n`, false],
          [`data: ${data}\ndata: x\n\n`, false],
        ] as const) {
          for (const cut of [[text.length], [999], [1, 5_000]]) {
            expect([text.slice(0, 60), verdictOf("responses", text, cut).isComplete]).toEqual([
              text.slice(0, 60),
              isComplete,
            ]);
          }
        }
      }
    }
  });
});

test("the last three events are never lost, whatever their lengths and the cut", () => {
  const length = integer({ min: 0, max: 4_000 });
  const cuts = array(integer({ min: 1, max: 5_000 }), { minLength: 1, maxLength: 3 });
  const isCrlf = constantFrom("\n", "\r\n");
  assert(
    property(array(length), length, length, cuts, isCrlf, (before, first, second, cut, lineEnd) => {
      const padded = (event: object, count: number) => ({ ...event, pad: "x".repeat(count) });
      const events = [
        ...before.map((count) => padded(role, count)),
        padded(finish, first),
        padded(usageChunk, second),
        ": a comment",
      ];
      const verdict = verdictOf("chat", chatStream(events, lineEnd), cut);
      expect(verdict).toMatchObject({ isComplete: true, usage: { totalTokens: 12 } });
    }),
    { numRuns: 200 },
  );
});

test("no stream is complete unless its reader saw the end, whatever noise is around", () => {
  const part = constantFrom(
    ...[created, { type: "response.output_text.delta", delta: "hi" }, completed()].map((event) =>
      responsesStream([event]),
    ),
    ...[role, chunk({ content: "hello" }), finish, done].map((event) => chatStream([event])),
    ": a comment\n\n",
    "\n",
    "\r\n",
    "data:\n\n",
    "data: {\n\n",
    "event: x\n",
    "id: 7\r\n",
    "x",
    `data: ${"y".repeat(2_900)}`,
    `data: ${"y".repeat(40_000)}`,
    chatStream([chunk({ content: "x".repeat(20_000) })]),
    responsesStream([completed({ pad: "x".repeat(20_000) })]),
  );
  const cuts = array(integer({ min: 1, max: 20_000 }), { minLength: 1, maxLength: 3 });
  assert(
    property(array(part, { maxLength: 8 }), cuts, (parts, cut) => {
      const text = parts.join("");
      const { verdict, forwarded } = run("responses", cutBy(Buffer.from(text), cut));
      const isOver = ({ data }: { data: string }) =>
        data === "[DONE]" || /^\{"type":"response\.completed".*\}$/.test(data);
      if (!verdict.isComplete) return;
      expect(eventsIn(forwarded + (verdict.isMidEvent ? "\n\n" : "")).some(isOver)).toBe(true);
    }),
    { numRuns: 300 },
  );
});
