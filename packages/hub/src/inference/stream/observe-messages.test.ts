import { describe, expect, test } from "vitest";
import { HubError } from "../../errors.ts";
import { cutBy, everyCut } from "./cuts.fixture.ts";
import { errorFrame } from "../response/error-frame.ts";
import { eventsIn, run, verdictOf, watch } from "./observe.fixture.ts";
import * as streams from "./streams.fixture.ts";

const { messagesStream, messageStart, blockStart, blockDelta, blockStop, messageDelta } = streams;
const { messageStop, ping } = streams;

const text = blockDelta({ type: "text_delta", text: "Gr\u00fc\u00dfe \u2028 \u{1f600}" });
const start = [messageStart, blockStart, ping, text];
const whole = [...start, blockStop, messageDelta, messageStop];
const counts = { inputTokens: 34, outputTokens: 15, totalTokens: 49, cachedInputTokens: 9 };

describe("a messages stream", () => {
  test.each(["\n", "\r\n"])(
    "passes byte for byte in every cut, lines ending with %j",
    (lineEnd) => {
      for (const hasEventLines of [true, false]) {
        const said = messagesStream(whole, { lineEnd, hasEventLines });
        for (const chunks of everyCut(Buffer.from(said))) {
          const { verdict, observer, forwarded } = run("messages", chunks);
          expect(forwarded).toBe(said);
          expect(verdict).toMatchObject({ isComplete: true, isOver: true, isMidEvent: false });
          expect(verdict).toMatchObject({ providerError: undefined, usage: counts });
          expect(observer.responseId).toBeUndefined();
        }
      }
    },
  );

  test("is whole after message_stop, however it ended", () => {
    for (const last of [messagesStream([messageStop]), "event: message_stop\ndata: {}\n\n"]) {
      const { observer } = watch("messages");
      observer.push(Buffer.from(messagesStream(start) + last), 0);
      expect(observer.fail()).toMatchObject({ isComplete: true, isOver: true });
    }
  });

  test.each([
    ["no message_stop", messagesStream(start)],
    ["a stop reason alone", messagesStream([...start, messageDelta])],
    ["[DONE] alone", `${messagesStream(start)}data: [DONE]\n\n`],
    ["message_stop as text", messagesStream([...start, blockDelta({ type: "message_stop" })])],
    ["only the name of one", `${messagesStream(start)}event: message_stop\n`],
    ["one without data", `${messagesStream(start)}event: message_stop\n\n`],
  ])("with %s is not complete", (_what, said) => {
    for (const cut of [[said.length], [1]]) {
      expect(verdictOf("messages", said, cut)).toMatchObject({ isComplete: false, isOver: false });
    }
  });

  test("in which the provider reports an error is described by it", () => {
    const error = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
    for (const events of [
      [messageStart, error],
      [...start, error, messageStop],
    ]) {
      const { verdict, forwarded } = run("messages", [Buffer.from(messagesStream(events))]);
      expect(verdict).toMatchObject({ isComplete: false, providerError: "Overloaded" });
      expect(forwarded).toBe(messagesStream(events));
    }
  });

  test.each([
    [
      "a long response between",
      [...start, ...Array.from({ length: 200 }, () => text), messageDelta, messageStop],
      counts,
    ],
    [
      "the input counted again at the end",
      [...start, { ...messageDelta, usage: { input_tokens: 30, output_tokens: 15 } }, messageStop],
      { inputTokens: 39, outputTokens: 15, totalTokens: 54, cachedInputTokens: 9 },
    ],
    [
      "no count at the end",
      [...start, messageStop],
      { inputTokens: 34, outputTokens: 1, totalTokens: 35, cachedInputTokens: 9 },
    ],
    [
      "zeros at the start, where nothing is known yet",
      [
        {
          ...messageStart,
          message: { ...messageStart.message, usage: { input_tokens: 0, output_tokens: 0 } },
        },
        text,
        {
          ...messageDelta,
          usage: { input_tokens: 5, cache_read_input_tokens: 4, output_tokens: 2 },
        },
        messageStop,
      ],
      { inputTokens: 9, outputTokens: 2, totalTokens: 11, cachedInputTokens: 4 },
    ],
    ["none at the start", [text, messageDelta, messageStop], { outputTokens: 15 }],
  ])("counts the input at its start and the output at its end: %s", (_what, events, expected) => {
    for (const cut of [[1_000_000], [100]]) {
      expect(verdictOf("messages", messagesStream(events), cut).usage).toEqual(expected);
    }
  });

  test.each([
    ["text", blockDelta({ type: "text_delta", text: "a" })],
    ["thinking", blockDelta({ type: "thinking_delta", thinking: "a" })],
    ["a tool's input", blockDelta({ type: "input_json_delta", partial_json: '{"' })],
    ["a tool call", { ...blockStart, content_block: { type: "tool_use", name: "f", input: {} } }],
  ])("begins its content with %s, not with what opens it", (_what, content) => {
    const { observer } = watch("messages");
    const empty = [messageStart, ping, blockStart, blockDelta({ type: "text_delta", text: "" })];
    for (const [index, event] of [...empty, content].entries()) {
      observer.push(Buffer.from(messagesStream([event])), index);
    }
    expect(observer.firstContentMs).toBe(empty.length);
  });

  test("begins its content behind an opening too long to be held", () => {
    const long = { ...messageStart, message: { ...messageStart.message, pad: "x".repeat(50_000) } };
    const said = Buffer.from(messagesStream([long, text, messageDelta, messageStop]));
    const { verdict, observer } = run("messages", cutBy(said, [1_000]));
    expect(observer.firstContentMs).toBe(Math.ceil(said.length / 1_000) - 1);
    expect(verdict).toMatchObject({ isComplete: true, usage: counts });
  });
});

describe("a messages stream that broke", () => {
  test("ends in every cut with an error event that Anthropic's clients can read, and no [DONE]", () => {
    const lost = new HubError("tunnel_lost", 'The tunnel to "ana" was lost.\n');
    const said = Buffer.from(messagesStream(start));
    for (let at = 0; at <= said.length; at++) {
      const { observer, forwarded } = watch("messages");
      observer.push(said.subarray(0, at), 0);
      const frame = errorFrame(lost, "messages", observer.fail(), "req_1");
      const events = eventsIn(forwarded() + frame);
      expect(events.slice(0, -1)).toEqual(eventsIn(forwarded()));
      expect(events.at(-1)?.event).toBe("error");
      expect(JSON.parse(events.at(-1)?.data ?? "")).toEqual({
        type: "error",
        error: { type: "api_error", message: lost.message, code: "tunnel_lost", stage: "tunnel" },
        request_id: "req_1",
      });
    }
  });
});
