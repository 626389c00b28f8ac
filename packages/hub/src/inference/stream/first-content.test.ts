import { expect, test } from "vitest";
import { countContentEvents } from "./first-content.ts";
import {
  blockDelta,
  blockStart,
  chatStream,
  chunk,
  completed,
  created,
  done,
  finish,
  messagesStream,
  messageStart,
  messageStop,
  responsesStream,
  role,
  textDelta,
  usageChunk,
} from "./streams.fixture.ts";

const both = chunk({ content: "ä", reasoning: '"content":"x"' });
const call = chunk({ tool_calls: [{ index: 0, function: { arguments: "{" } }] });

test.each(["\n", "\r\n", "\r"])("chunks of a chat with content count once each (%j)", (lineEnd) => {
  const events = [role, both, call, chunk({ content: "b" }), finish, usageChunk, done];
  const stream = Buffer.from(chatStream(events, lineEnd));
  expect(countContentEvents(stream, "chat")).toBe(3);
  expect(countContentEvents(stream, "chat")).toBe(3);
});

test("deltas of a Responses stream count, its opening and its end do not", () => {
  const stream = Buffer.from(responsesStream([created, textDelta, textDelta, completed()]));
  expect(countContentEvents(stream, "responses")).toBe(2);
});

test("deltas of a messages stream count, its opening and its end do not", () => {
  const thinking = blockDelta({ type: "thinking_delta", thinking: "hm" });
  const text = blockDelta({ type: "text_delta", text: "a" });
  const events = [messageStart, blockStart, thinking, text, text, messageStop];
  expect(countContentEvents(Buffer.from(messagesStream(events)), "messages")).toBe(3);
});

test("nothing counts as nothing", () => {
  expect(countContentEvents(Buffer.alloc(0), "chat")).toBe(0);
});
