import { describe, expect, test } from "vitest";
import { resolveLimits, type StreamMarker } from "@roomhub/protocol";
import { FakeClient } from "../dispatch.fixture.ts";
import { chatStream, chunk, done, finish, responsesStream } from "../stream/streams.fixture.ts";
import { ClientWriter } from "./client-writer.ts";
import { StreamedResponse } from "./streamed-response.ts";

const part = chatStream([chunk({ content: "a" })]);
const finished = chatStream([finish]);
const over = chatStream([finish, done]);

/** A stream whose provider has sent `text` at 1 000 ms. */
function streamed(text: string, marker: StreamMarker = "chat") {
  const client = new FakeClient();
  client.writeHead(200, {});
  const limits = resolveLimits({});
  const writer = new ClientWriter(client, { limits, nowMs: () => 1_000 }, 0);
  const settings = { participantId: "ana", marker, eventHoldBytes: 1_024, hidesUsage: false };
  const detail = { isWatched: false };
  const response = new StreamedResponse(writer, {
    ...settings,
    isTranslated: false,
    scrub: undefined,
    detail,
    onFirstEvent: (data) => data,
  });
  response.push(Buffer.from(text), 1_000);
  return { client, writer, response };
}

const ignored = () => undefined;

describe("an end", () => {
  test.each([
    ["with [DONE] adds nothing", over, over],
    ["after a finish reason adds [DONE]", finished, `${finished}data: [DONE]\n\n`],
    [
      "without the last event's blank line closes the event",
      finished.slice(0, -1),
      `${finished.slice(0, -1)}\n\ndata: [DONE]\n\n`,
    ],
    [
      "without the blank line of [DONE] closes the event",
      over.slice(0, -1),
      `${over.slice(0, -1)}\n\n`,
    ],
  ])("%s", (_title, text, sent) => {
    const { client, response } = streamed(text);
    expect(response.end(1_000, ignored)).toEqual({ kind: "handing-over" });
    expect(client).toMatchObject({ text: sent, isEnded: true });
  });

  test("before the stream is complete is a failure, and does not end the client's response", () => {
    const { client, response } = streamed(part);
    expect(() => response.end(1_000, ignored)).toThrow("ended its stream before it was complete");
    expect(client.isEnded).toBe(false);
  });

  test("after the provider's own error event is the provider's error", () => {
    const { client, response } = streamed('data: {"error":{"message":"no memory"}}\n\n');
    const end = response.end(1_000, ignored);
    expect(end).toMatchObject({ kind: "provider-error", error: { message: "no memory" } });
    expect(client.isEnded).toBe(true);
  });
});

describe("a lost path", () => {
  test.each<[string, string, StreamMarker, boolean]>([
    ["after [DONE] ends the stream", over, "chat", true],
    ["after a finish reason alone does not: usage may follow", finished, "chat", false],
    [
      "after a terminal event ends the stream",
      responsesStream([{ type: "response.completed", response: {} }]),
      "responses",
      true,
    ],
  ])("%s", (_title, text, marker, ends) => {
    const { client, response } = streamed(text, marker);
    expect(response.endIfOver(ignored)).toBe(ends);
    expect(client.isEnded).toBe(ends);
    expect(response.endIfOver(ignored), "an end comes once").toBe(false);
  });
});

test("a complete stream is left open after 2 s of silence, and is checked once per silence", () => {
  const { response } = streamed(over);
  expect(response.isLeftOpen(2_999, 1_000)).toBe(false);
  expect(response.isLeftOpen(3_000, 1_000)).toBe(true);
  expect(response.isLeftOpen(9_000, 1_000)).toBe(false);
  expect(response.isLeftOpen(9_000, 7_000)).toBe(true);
});

test("an incomplete stream is never left open, nor taken", () => {
  const { response } = streamed(part);
  expect(response.isLeftOpen(9_000, 1_000)).toBe(false);
  expect(response.wasTaken()).toBe(false);
});

test("a complete stream was taken unless its client is behind", () => {
  const { client, writer, response } = streamed(over);
  expect(response.wasTaken()).toBe(true);
  client.isBehind = true;
  writer.write(": keepalive\n\n");
  expect(response.wasTaken()).toBe(false);
});
