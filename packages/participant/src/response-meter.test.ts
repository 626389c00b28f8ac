import { SURFACES } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { type ResponseMeter, meterFor } from "./response-meter.ts";

const sse = { status: 200, headers: { "content-type": "text/event-stream; charset=utf-8" } };
const json = { status: 200, headers: { "content-type": "application/json" } };

function meterOf(path: string, head = sse, isCounted = false): ResponseMeter {
  const meter = meterFor({ method: "POST", path }, head, isCounted);
  if (meter === undefined) throw new Error(`${path} is not measured`);
  return meter;
}

const timeAt = (ms: number) => ({ monotonicMs: () => ms, wallMs: () => ms });

/** @returns the number of the piece, from 0, that brought the first content */
function feed(meter: ResponseMeter, pieces: readonly (string | Buffer)[]): number | undefined {
  for (const [index, piece] of pieces.entries()) meter.see(Buffer.from(piece), timeAt(index));
  return meter.contentMs;
}

const role = 'data: {"choices":[{"delta":{"role":"assistant","content":""}}]}\n\n';
const usage = { inputTokens: 9, outputTokens: 4, totalTokens: 13 };
const chatUsage = '"usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13}';
const chatEnd = `data: {"choices":[],${chatUsage}}\n\ndata: [DONE]\n\n`;
const opened =
  'data: {"type":"message_start","message":{"content":[],"usage":{"input_tokens":9}}}\n\n';

test.each([
  ["text", "/chat/completions", role, 'data: {"choices":[{"delta":{"content":"\\"Hi"}}]}\n\n'],
  ["reasoning", "/chat/completions", role, '{"delta":{"content":null,"reasoning_content" : "H"}}'],
  [
    "a tool call",
    "/chat/completions",
    '{"delta":{"content":"","tool_calls":[],"audio":{}}}',
    '{"delta":{"tool_calls":[{"index":0}]}}',
  ],
  ["parts", "/chat/completions", role, '{"delta":{"content":[{"type":"text"}]}}'],
  ["a completion", "/completions", '{"choices":[{"text":""}]}', '{"choices":[{"text":" a"}]}'],
  [
    "a response",
    "/responses",
    'data: {"type":"response.created","response":{"output":[],"text":{"format":{"type":"text"}}}}',
    'data: {"type":"response.output_text.delta","delta":"H"}',
  ],
  [
    "a message",
    "/messages",
    `${opened}data: {"type":"content_block_start","content_block":{"type":"text","text":""}}\n\n`,
    'data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"H"}}\n\n',
  ],
  [
    "a message that calls a tool",
    "/messages",
    opened,
    'data: {"type":"content_block_start","content_block":{"type":"tool_use","id":"t"}}\n\n',
  ],
])(
  "the first content of a stream is %s, not its opening events",
  (_what, path, opening, content) => {
    expect(feed(meterOf(path), [opening])).toBeUndefined();
    expect(feed(meterOf(path), [": keepalive\n\n", opening, content, content])).toBe(2);
  },
);

test.each([false, true])(
  "content is detected with its first character wherever the stream is cut, and usage at the end; counted: %s",
  (isCounted) => {
    const text = `${role}data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n${chatEnd}`;
    const first = text.indexOf('"Hi"') + 1;
    const measured = (pieces: readonly string[]) => {
      const meter = meterOf("/chat/completions", sse, isCounted);
      const at = feed(meter, pieces);
      expect(meter.usage()).toEqual(usage);
      expect(meter.contentEvents).toBe(isCounted ? 1 : 0);
      return at;
    };
    for (let cut = 1; cut < text.length; cut++) {
      expect(measured([text.slice(0, cut), text.slice(cut)])).toBe(cut > first ? 0 : 1);
    }
    expect(measured(Array.from(text))).toBe(first);
  },
);

test.each([1, 7, 500, 1_023, 1_024, 4_095, 4_096, 4_097, 9_000, 70_000])(
  "usage is found after a response of any length, in chunks of %i bytes",
  (bytes) => {
    for (const length of [0, 900, 3_900, 8_100, 8_200, 100_000]) {
      const whole = Buffer.from(`{"choices":["${"é".repeat(length / 2)}"],${chatUsage}}`);
      const meter = meterOf("/chat/completions", json);
      for (let at = 0; at < whole.length; at += bytes) {
        meter.see(whole.subarray(at, at + bytes), timeAt(0));
      }
      expect(meter.usage()).toEqual(usage);
    }
  },
);

test("usage in generated text is ignored", () => {
  const body = JSON.stringify({ choices: [`{${chatUsage}}`] });
  const meter = meterOf("/chat/completions", json);
  feed(meter, [body]);
  expect(meter.usage()).toEqual({});
});

test("the first byte of a JSON response counts as content", () => {
  expect(feed(meterOf("/chat/completions", json), ["", "{", "}"])).toBe(1);
  expect(feed(meterOf("/embeddings", json), ["{"])).toBe(0);
});

test("only relayed surfaces are measured", () => {
  for (const { path } of SURFACES) expect(() => meterOf(`/${path}`)).not.toThrow();
  for (const [method, path, status] of [
    ["GET", "/models", 200],
    ["GET", "/responses/resp_1", 200],
    ["POST", "/responses/resp_1/cancel", 200],
    ["POST", "/chat/completions", 400],
  ] as const) {
    expect(meterFor({ method, path }, { ...sse, status }, false)).toBeUndefined();
  }
});
