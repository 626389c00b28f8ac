import type { StreamMarker } from "@roomhub/protocol";
import { describe, expect, test } from "vitest";
import { cutBy, everyCut } from "./cuts.fixture.ts";
import { noEdits } from "./event-edits.ts";
import { maxHeldBytes, run } from "./observe.fixture.ts";
import * as streams from "./streams.fixture.ts";

const { chatStream, chunk, done, finish, messagesStream, responsesStream, role } = streams;
const { completed, created, messageStart, textDelta, usageChunk } = streams;

describe("usage the client did not request", () => {
  const hides = { ...noEdits, hidesUsage: true };
  const content = chunk({ content: "Gr\u00fc\u00dfe" });
  const withNull = { ...content, usage: null };
  const counts = { inputTokens: 5, outputTokens: 7, totalTokens: 12 };
  const spaced = `{"choices" : [ ] , "usage" : ${JSON.stringify(usageChunk.usage)}}`;

  test.each(["\n", "\r\n", "\r"])(
    "stays with the hub, which reads it, in every cut, lines ending with %j",
    (lineEnd) => {
      const before = chatStream([role, withNull, finish], lineEnd);
      const last = chatStream([done], lineEnd);
      for (const usage of [usageChunk, spaced]) {
        const said = before + chatStream([usage], lineEnd) + last;
        for (const chunks of everyCut(Buffer.from(said))) {
          const { verdict, forwarded } = run("chat", chunks, maxHeldBytes, hides);
          expect(forwarded).toBe(before + last);
          expect(verdict).toMatchObject({ isComplete: true, hasDone: true, usage: counts });
        }
      }
    },
  );

  test("stays there too when it is the last thing said, even without its blank line", () => {
    const before = chatStream([role, content, finish]);
    for (const usage of [chatStream([usageChunk]), chatStream([usageChunk]).trimEnd()]) {
      const { verdict, forwarded } = run(
        "chat",
        [Buffer.from(before + usage)],
        maxHeldBytes,
        hides,
      );
      expect(forwarded).toBe(before);
      expect(verdict).toMatchObject({ isComplete: true, isMidEvent: false, usage: counts });
    }
  });

  test("stays there behind an event too long to be held", () => {
    const before = chatStream([role, chunk({ content: "x".repeat(50_000) })]);
    const said = before + chatStream([usageChunk, finish, done]);
    for (const cut of [[said.length], [1_000], [20_000, 7]]) {
      const { forwarded } = run("chat", cutBy(Buffer.from(said), cut), maxHeldBytes, hides);
      expect(forwarded).toBe(before + chatStream([finish, done]));
    }
  });

  test.each([
    ["counts beside content", { ...finish, usage: usageChunk.usage }],
    ["no choices and no counts", { ...usageChunk, usage: null }],
    ["no choices and a filter's result", { choices: [], prompt_filter_results: [] }],
    ["no choices as text", chunk({ content: '"choices":[],"usage":{}' })],
    ["empty choices further in", { ...content, x: { choices: [] }, usage: usageChunk.usage }],
    ["nothing a parser takes", '{"choices":[],"usage":{'],
    ["half a key", '"choices":['],
  ])("is all that is taken out: an event with %s passes", (_what, event) => {
    const said = chatStream([role, event, done]);
    for (const cut of [[said.length], [7]]) {
      expect(run("chat", cutBy(Buffer.from(said), cut), maxHeldBytes, hides).forwarded).toBe(said);
    }
  });

  test("passes to a client that requested it", () => {
    const said = chatStream([role, finish, usageChunk, done]);
    expect(run("chat", [Buffer.from(said)]).forwarded).toBe(said);
  });
});

describe("a participant's secret", () => {
  const secret = "k\u00e9y-0123456789";
  const scrub = (text: string) => text.replaceAll(secret, "[redacted]");
  const scrubs = { hidesUsage: false, scrub };
  const words = `bad key ${secret} \u{1f600}`;
  const innocent = `an error? no: ${secret}`;
  const error = { message: words, code: "x" };

  test.each<[string, StreamMarker, string, string]>([
    [
      "a chat chunk",
      "chat",
      chatStream([role, chunk({ content: innocent })]),
      chatStream([{ error }, done]),
    ],
    [
      "an error event",
      "responses",
      responsesStream([created, { ...textDelta, delta: innocent }]),
      responsesStream([{ type: "error", ...error }]),
    ],
    [
      "the response that failed",
      "responses",
      responsesStream([created]),
      responsesStream([{ ...completed({ error }), type: "response.failed" }]),
    ],
    [
      "Anthropic's error event",
      "messages",
      messagesStream([messageStart]),
      messagesStream([{ type: "error", error: { type: "api_error", message: words } }]),
    ],
  ])("leaves no error by way of %s, in any cut", (_what, marker, before, failing) => {
    expect(scrub(failing)).not.toBe(failing);
    for (const chunks of everyCut(Buffer.from(before + failing))) {
      const { forwarded } = run(marker, chunks, maxHeldBytes, scrubs);
      expect(forwarded).toBe(before + scrub(failing));
    }
  });

  test("is taken out of an error that ends without its blank line", () => {
    const said = chatStream([role, { error }]).trimEnd();
    const { verdict, forwarded } = run("chat", [Buffer.from(said)], maxHeldBytes, scrubs);
    expect(forwarded).toBe(scrub(said));
    expect(verdict).toMatchObject({ isMidEvent: true, providerError: words });
  });

  test("changes no byte of an error that does not repeat it", () => {
    const said = Buffer.concat([
      Buffer.from('data: {"error":{"message":"'),
      Buffer.from([0xff, 0xc3]),
      Buffer.from('"}}\n\n'),
    ]);
    const parts: Buffer[] = [];
    const { forwarded } = run("chat", [said], maxHeldBytes, {
      hidesUsage: false,
      scrub: (text) => (parts.push(Buffer.from(text)), text),
    });
    expect(parts).toHaveLength(1);
    expect(forwarded).toBe(said.toString("utf8"));
  });
});
