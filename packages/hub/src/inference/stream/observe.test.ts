import type { StreamMarker } from "@roomhub/protocol";
import { array, assert, constantFrom, integer, property } from "fast-check";
import { describe, expect, test } from "vitest";
import { HubError } from "../../errors.ts";
import { cutBy, everyCut } from "./cuts.fixture.ts";
import { errorFrame } from "../response/error-frame.ts";
import { eventsIn, maxHeldBytes, run, verdictOf, watch } from "./observe.fixture.ts";
import * as streams from "./streams.fixture.ts";

const { chatStream, responsesStream, chunk, completed, created, done, finish, role } = streams;
const { textDelta, usageChunk } = streams;
const lineEnds = ["\n", "\r\n", "\r"];
const counts = { inputTokens: 5, outputTokens: 7, totalTokens: 12 };

const chat = [
  role,
  chunk({ content: "Gr\u00fc\u00dfe \u2028 \u{1f600}" }),
  finish,
  usageChunk,
  done,
];
const responses = [created, textDelta, completed()];

describe("bytes leave as they came", () => {
  test.each(lineEnds)("for chat in every cut, lines ending with %j", (lineEnd) => {
    const text = chatStream(chat, lineEnd);
    for (const chunks of everyCut(Buffer.from(text))) {
      const { verdict, forwarded } = run("chat", chunks);
      expect(forwarded).toBe(text);
      expect(verdict).toMatchObject({ isComplete: true, isOver: true, hasDone: true });
      expect(verdict).toMatchObject({ isMidEvent: false, providerError: undefined, usage: counts });
    }
  });

  test.each(lineEnds)("for Responses in every cut, lines ending with %j", (lineEnd) => {
    for (const hasEventLines of [true, false]) {
      const text = responsesStream(responses, { lineEnd, hasEventLines });
      for (const chunks of everyCut(Buffer.from(text))) {
        const { verdict, observer, forwarded } = run("responses", chunks);
        expect(forwarded).toBe(text);
        expect(verdict).toMatchObject({ isComplete: true, isOver: true, hasDone: false });
        expect(verdict).toMatchObject({ nextSequenceNumber: 3, usage: counts });
        expect(verdict.response).toMatchObject({ id: "resp_1" });
        expect(observer.responseId).toBe("resp_1");
      }
    }
  });

  test("whatever the sizes of events, chunks and the hold, with comments and mixed line ends", () => {
    const event = constantFrom(
      "data: [DONE]\n\n",
      ": keepalive\n\n",
      "data:{}\r\n\r\n",
      "event: x\rdata: 1\r\r",
      `data: ${JSON.stringify(finish)}\n\n`,
      `data: {"long":"${"x".repeat(5_000)}"}\n\n`,
      `event: response.completed\r\ndata: {"y":"${"\u00e9".repeat(300)}"}\r\n\r\n`,
    );
    const cuts = array(integer({ min: 1, max: 700 }), { minLength: 1, maxLength: 4 });
    const marker = constantFrom("chat" as const, "responses" as const);
    assert(
      property(
        array(event),
        cuts,
        integer({ min: 0, max: 900 }),
        marker,
        (all, cut, hold, kind) => {
          const text = all.join("");
          const { observer, forwarded, forwardedBytes } = watch(kind, hold);
          let pushed = 0;
          for (const bytes of cutBy(Buffer.from(text), cut)) {
            observer.push(bytes, 0);
            pushed += bytes.length;
            expect(observer.heldBytes).toBeLessThanOrEqual(Math.max(hold, 3));
            expect(forwardedBytes() + observer.heldBytes).toBe(pushed);
          }
          observer.end(0);
          expect(forwarded()).toBe(text);
        },
      ),
      { numRuns: 150 },
    );
  });

  test("an event of 300 KB flows on as it arrives, and at most 16 KiB are ever held", () => {
    const text = chatStream([role, chunk({ content: "x".repeat(300_000) }), finish, done]);
    const { observer, forwarded, forwardedBytes } = watch("chat");
    let heldMost = 0;
    let pushed = 0;
    for (const bytes of cutBy(Buffer.from(text), [1_000, 37])) {
      observer.push(bytes, 0);
      pushed += bytes.length;
      heldMost = Math.max(heldMost, observer.heldBytes, pushed - forwardedBytes());
    }
    expect(heldMost).toBeLessThanOrEqual(maxHeldBytes);
    expect(observer.end(0)).toMatchObject({ isComplete: true, isMidEvent: false });
    expect(forwarded()).toBe(text);
  });

  test("half an event is held back until it is whole, and what has left ends between two events", () => {
    const { observer, forwarded } = watch("chat");
    observer.push(Buffer.from("data: 1\n\ndata: 2\n"), 0);
    expect(forwarded()).toBe("data: 1\n\n");
    expect(observer.isBetweenEvents).toBe(true);
    observer.push(Buffer.from("\n"), 0);
    expect(forwarded()).toBe("data: 1\n\ndata: 2\n\n");
    expect(observer.isBetweenEvents).toBe(true);
  });

  test("what is held does not change with the buffer it came in", () => {
    const { observer, forwarded } = watch("chat");
    const window = Buffer.from("data: {}");
    observer.push(window, 0);
    window.fill(0);
    observer.push(Buffer.from("\n\n"), 0);
    expect(forwarded()).toBe("data: {}\n\n");
  });
});

describe("a chat stream", () => {
  const start = chatStream([role, chunk({ content: "hi" })]);

  const complete = [
    ["[DONE] alone", start + chatStream([done])],
    ["a finish reason alone", start + chatStream([finish])],
    ["a finish reason behind spaces", `${start}data: {"finish_reason" : "length"}\n\n`],
    ["a finish chunk of 20 KB", start + chatStream([{ ...finish, pad: "x".repeat(20_000) }])],
    [
      "a chunk of 20 KB behind the finish",
      start + chatStream([finish, { pad: "x".repeat(20_000) }]),
    ],
    ["[DONE] without its blank line", `${start}data: [DONE]`],
    ["a finish reason without its blank line", start + chatStream([finish]).trimEnd()],
  ] as const;
  const incomplete = [
    ["no marker", start],
    ["finish_reason null", start + chatStream([chunk({ content: "x" }, null)])],
    [
      "[DONE] as text",
      start + chatStream([chunk({ content: 'data: [DONE] "finish_reason":"stop"' })]),
    ],
    [
      "[DONE] as text behind U+2028",
      start + chatStream([chunk({ content: "\u2028data: [DONE]\u2028" })]),
    ],
    ["half a finish chunk", start + chatStream([finish]).slice(0, -5)],
    [
      "half of a finish chunk of 20 KB",
      start + chatStream([{ ...finish, pad: "x".repeat(20_000) }]).slice(0, -5),
    ],
    ["nothing at all", ""],
  ] as const;

  test.each([
    ...complete.map(([what, text]) => ({ what, is: "is", text })),
    ...incomplete.map(([what, text]) => ({ what, is: "is not", text })),
  ])("with $what $is complete after a clean end", ({ is, text }) => {
    for (const cut of [[Math.max(1, text.length)], [text.length > 2_000 ? 29 : 1], [5, 1_000]]) {
      expect(verdictOf("chat", text, cut).isComplete).toBe(is === "is");
    }
  });

  test("that broke is whole after [DONE], not after a finish reason", () => {
    for (const [events, isOver] of [
      [[role, finish], false],
      [[role, finish, done], true],
      [[role, done], true],
    ] as const) {
      const { observer } = watch("chat");
      observer.push(Buffer.from(chatStream(events)), 0);
      expect(observer.fail().isOver).toBe(isOver);
    }
  });

  test("that ended in half an event drops that half", () => {
    const text = `${start}data: {"choices":[{"del`;
    const { verdict, forwarded } = run("chat", cutBy(Buffer.from(text), [7]));
    expect(forwarded).toBe(start);
    expect(verdict).toMatchObject({ isComplete: false, isMidEvent: false });
  });

  test.each([
    [
      "OpenAI's form",
      '{"error":{"message":"out of memory \u00e9","code":"x"}}',
      "out of memory \u00e9",
    ],
    ["a bare text", '{"error":"out of memory"}', "out of memory"],
    ["an error beside other fields", '{"id":"1","error":{"message":"boom"},"choices":[]}', "boom"],
    ["an error of a type", '{"type":"error","error":{"message":"boom"}}', "boom"],
    ["an error without words", '{"error":{}}', "The provider reported an error in the stream."],
  ])("in which the provider reports an error is described by it: %s", (_what, json, message) => {
    for (const end of ["", "data: [DONE]\n\n"]) {
      const text = `${start}data: ${json}\n\n${end}`;
      const { verdict, forwarded } = run("chat", cutBy(Buffer.from(text), [3]));
      expect(verdict).toMatchObject({ isComplete: false, isOver: false, providerError: message });
      expect(forwarded).toBe(text);
    }
  });

  test.each(['{"error":null,"choices":[]}', '{"x":{"error":{"message":"inner"}}}', "no json"])(
    "is no failure because of %s",
    (data) => {
      const text = start + chatStream([data, finish, done]);
      expect(verdictOf("chat", text)).toMatchObject({ isComplete: true, providerError: undefined });
    },
  );
});

describe("a Responses stream", () => {
  const start = responsesStream([created, textDelta]);

  test.each(["response.completed", "response.incomplete", "response.failed"])(
    "is complete with %s, with and without event lines, and longer than any tail",
    (type) => {
      for (const pad of [10, 5_000, 40_000]) {
        for (const hasEventLines of [true, false]) {
          const end = { ...completed({ pad: "x".repeat(pad) }), type };
          const text = responsesStream([created, textDelta, end], { hasEventLines });
          for (const cut of [[text.length], [1_000], [1, 50]]) {
            const { verdict, forwarded } = run("responses", cutBy(Buffer.from(text), cut));
            expect(verdict).toMatchObject({ isComplete: true, isOver: true, usage: counts });
            expect(verdict.nextSequenceNumber).toBe(3);
            expect(forwarded).toBe(text);
          }
        }
      }
    },
  );

  test("is complete when the type is the last thing a long event says", () => {
    const text = `${start}data: {"response":{"pad":"${"x".repeat(20_000)}"},"type":"response.completed"}\n\n`;
    expect(verdictOf("responses", text, [777]).isComplete).toBe(true);
  });

  test.each([
    ["no terminal event", start],
    ["one as text", start + responsesStream([{ type: "x", delta: '"type":"response.completed"' }])],
    ["half of one", (start + responsesStream([completed()])).slice(0, -9)],
    [
      "half of a long one",
      (start + responsesStream([completed({ pad: "x".repeat(40_000) })])).slice(0, -9),
    ],
    ["only the name of one", `${start}event: response.completed\n`],
    ["a longer name", `${start}event: response.completed_soon\ndata: {}\n\n`],
  ])("with %s is not complete, however it ended", (_what, text) => {
    for (const cut of [[text.length], [1_000], [text.length > 2_000 ? 29 : 1]]) {
      const { observer } = watch("responses");
      for (const bytes of cutBy(Buffer.from(text), cut)) observer.push(bytes, 0);
      expect(observer.end(0)).toMatchObject({ isComplete: false, isOver: false });
      expect(observer.fail().isOver).toBe(false);
    }
  });

  test.each([
    ["nested", { error: { message: "boom", code: "x" } }],
    ["flat", { message: "boom", code: "x", param: null }],
  ])("in which the provider reports an error is described by it: %s", (_form, fields) => {
    const text = responsesStream([created, { type: "error", ...fields }]);
    const { verdict } = run("responses", [Buffer.from(text)]);
    expect(verdict).toMatchObject({ isComplete: false, providerError: "boom" });
  });

  test("that failed in good order has a terminal event and is whole", () => {
    const failed = { ...completed({ error: { message: "boom" } }), type: "response.failed" };
    expect(verdictOf("responses", responsesStream([created, failed]))).toMatchObject({
      isComplete: true,
      isOver: true,
      providerError: undefined,
    });
  });

  test.each([[[]], [[done]]])(
    "is failed by its error event, whatever terminal event and %j come behind it",
    (behind) => {
      const error = { type: "error", error: { message: "boom" } };
      const failed = { ...completed({ pad: "x".repeat(20_000) }), type: "response.failed" };
      for (const last of [{ ...failed, response: created.response }, failed]) {
        const text = responsesStream([created, error, last]) + chatStream(behind);
        for (const cut of [[text.length], [1_000]]) {
          expect(verdictOf("responses", text, cut)).toMatchObject({
            isComplete: false,
            isOver: false,
            providerError: "boom",
          });
        }
      }
    },
  );
});

describe("usage", () => {
  test.each([
    ["in the last chunk", [finish, usageChunk, done], counts],
    ["in the finish chunk", [{ ...finish, usage: usageChunk.usage }, done], counts],
    ["null until the end", [{ ...role, usage: null }, finish, { ...usageChunk }, done], counts],
    [
      "without a total",
      [finish, { usage: { prompt_tokens: 2, completion_tokens: 3 } }, done],
      { inputTokens: 2, outputTokens: 3, totalTokens: 5 },
    ],
    ["outputs alone", [finish, { usage: { completion_tokens: 3 } }, done], { outputTokens: 3 }],
    [
      "with false counts",
      [
        finish,
        { usage: { prompt_tokens: -1, completion_tokens: 1.5, total_tokens: 2 ** 60 } },
        done,
      ],
      {},
    ],
    ["as text", [chunk({ content: '"usage":{"prompt_tokens":99}' }), finish, done], {}],
    ["nowhere", [finish, done], {}],
  ])("%s", (_where, events, expected) => {
    expect(verdictOf("chat", chatStream(events), [9]).usage).toEqual(expected);
  });

  test("stands in a finish chunk longer than the tail", () => {
    const long = { ...finish, usage: usageChunk.usage, timings: "x".repeat(10_000) };
    for (const cut of [[100_000], [333]]) {
      expect(verdictOf("chat", chatStream([role, long, done]), cut).usage).toEqual(counts);
    }
  });

  test.each([10, 4_000, 15_000, 100_000])(
    "is found in response.completed with %i bytes behind it",
    (pad) => {
      const text = responsesStream([
        created,
        textDelta,
        completed({ instructions: "x".repeat(pad) }),
      ]);
      for (const cut of [[text.length], [1_000], [1, 99]]) {
        expect(verdictOf("responses", text, cut).usage).toEqual(counts);
      }
    },
  );

  test("that never closes costs no more than it is long", () => {
    const evil = `data: {"x":[${'{"usage":{"a":'.repeat(8_000)}\n\n`;
    expect(verdictOf("chat", evil.repeat(2)).usage).toEqual({});
  });
});

describe("a stream that broke", () => {
  const lost = new HubError("tunnel_lost", 'The tunnel to "ana" was lost.\n');

  test("ends in every cut with an error frame that chat clients can read", () => {
    const text = Buffer.from(chatStream([role, chunk({ content: "\u00e9\u{1f600}" })]));
    for (let at = 0; at <= text.length; at++) {
      const { observer, forwarded } = watch("chat");
      observer.push(text.subarray(0, at), 0);
      const whole = forwarded();
      const events = eventsIn(whole + errorFrame(lost, "chat", observer.fail(), undefined));
      expect(events.slice(0, -2)).toEqual(eventsIn(whole));
      expect(JSON.parse(events.at(-2)?.data ?? "")).toEqual({
        error: { message: lost.message, type: "server_error", param: "", code: "tunnel_lost" },
      });
      expect(events.at(-1)?.data).toBe("[DONE]");
    }
  });

  test("closes a long event first, of which part has left", () => {
    for (const marker of ["chat", "responses"] as const) {
      const { observer, forwarded } = watch(marker);
      observer.push(Buffer.from(`data: {"x":"${"y".repeat(20_000)}`), 0);
      const verdict = observer.fail();
      expect(verdict.isMidEvent).toBe(true);
      const events = eventsIn(forwarded() + errorFrame(lost, marker, verdict, undefined));
      expect(JSON.parse(events[1]?.data ?? "")).toMatchObject({ error: { code: "tunnel_lost" } });
    }
  });

  test("is nested and flat for Responses clients, counts on, and closes the response", () => {
    const { observer, forwarded } = watch("responses");
    observer.push(Buffer.from(responsesStream([created, textDelta])), 0);
    const events = eventsIn(
      forwarded() + errorFrame(lost, "responses", observer.fail(), undefined),
    );
    expect(events.map(({ event }) => event)).toEqual([
      "response.created",
      "response.output_text.delta",
      "error",
      "response.failed",
      undefined,
    ]);
    const { message } = lost;
    expect(JSON.parse(events[2]?.data ?? "")).toEqual({
      type: "error",
      sequence_number: 2,
      error: { message, type: "server_error", param: "", code: "tunnel_lost" },
      code: "tunnel_lost",
      message,
      param: "",
    });
    expect(JSON.parse(events[3]?.data ?? "")).toEqual({
      type: "response.failed",
      sequence_number: 3,
      response: {
        ...created.response,
        status: "failed",
        error: { code: "tunnel_lost", message },
      },
    });
    expect(events[4]?.data).toBe("[DONE]");
  });

  test("has no response to close when none was relayed", () => {
    const { observer } = watch("responses");
    const events = eventsIn(errorFrame(lost, "responses", observer.fail(), undefined));
    expect(events.map(({ event }) => event)).toEqual(["error", undefined]);
    expect(JSON.parse(events[0]?.data ?? "")).toMatchObject({ sequence_number: 0 });
  });

  test("remembers a response whose opening event was longer than the hold", () => {
    const tools = "x".repeat(50_000);
    const opening = { ...created, response: { ...created.response, tools } };
    const { observer } = watch("responses");
    const text = Buffer.from(responsesStream([opening, textDelta]));
    for (const [index, bytes] of cutBy(text, [1_000]).entries()) observer.push(bytes, index);
    expect(observer.firstContentMs).toBe(Math.ceil(text.length / 1_000) - 1);
    expect(observer.fail().response).toEqual(opening.response);
    expect(observer.fail().nextSequenceNumber).toBe(2);
  });
});

describe("the first content", () => {
  const first = (marker: StreamMarker, events: readonly string[]) => {
    const { observer } = watch(marker);
    for (const [index, text] of events.entries()) observer.push(Buffer.from(text), index);
    return observer.firstContentMs;
  };

  test.each([
    ["text", { content: "a" }],
    ["reasoning", { reasoning_content: "a" }],
    ["reasoning in its other spelling", { reasoning: "a" }],
    ["a tool call", { tool_calls: [{ index: 0, function: { name: "f" } }] }],
    ["a refusal", { refusal: "no" }],
    ["audio", { audio: { data: "aa" } }],
  ])("of chat is %s, not the role or an empty text", (_what, delta) => {
    const empty = [
      role,
      chunk({}),
      chunk({ content: null, tool_calls: [] }),
      "null",
      "[]",
      "1",
      "x",
    ];
    const events = [...empty, chunk(delta)].map((event) => chatStream([event]));
    expect(first("chat", events)).toBe(empty.length);
  });

  test("of a completion is its text", () => {
    const texts = ["", "a"].map((text) => chatStream([{ choices: [{ index: 0, text }] }]));
    expect(first("chat", texts)).toBe(1);
  });

  test.each(["output_text", "reasoning_text", "reasoning_summary_text", "function_call_arguments"])(
    "of Responses is a delta of %s, not response.created",
    (kind) => {
      const events = [
        created,
        { ...created, type: "response.in_progress" },
        { type: "response.output_item.added", item: {} },
        { type: `response.${kind}.delta`, delta: "" },
        { type: `response.${kind}.delta`, delta: "a" },
      ].map((event) => responsesStream([event]));
      expect(first("responses", events)).toBe(4);
    },
  );

  test("is when its event is whole, or too long to be held", () => {
    const text = chatStream([chunk({ content: "abc" })]);
    expect(first("chat", [text.slice(0, 60), text.slice(60)])).toBe(1);
    expect(first("chat", ["data: {", `"x":"${"y".repeat(20_000)}`, "z"])).toBe(1);
  });

  test("was never there in a stream without any", () => {
    expect(first("chat", [chatStream([role, finish, done])])).toBeUndefined();
  });
});
