import { SimulatedWorld } from "../../../protocol/src/simulated-world.fixture.ts";
import { expect, test } from "vitest";
import { meterFor } from "../response-meter.ts";
import { TokenMeter } from "./token-meter.ts";

const sse = { status: 200, headers: { "content-type": "text/event-stream" } };
const json = { status: 200, headers: { "content-type": "application/json" } };

interface Exchange {
  path?: string;
  requestBytes?: number;
  head?: typeof sse;
  pieces: readonly string[];
  isWhole?: boolean;
}

function tokensOf(exchange: Exchange): number {
  const { path = "/chat/completions", requestBytes = 41, head = sse, pieces } = exchange;
  const tokens = new TokenMeter(path);
  const meter = meterFor({ method: "POST", path }, head, true);
  tokens.seeRequest(requestBytes - 1);
  tokens.seeRequest(1);
  tokens.begin(meter, head);
  for (const piece of pieces) {
    meter?.see(Buffer.from(piece), new SimulatedWorld());
    tokens.seeResponse(Buffer.from(piece));
  }
  return tokens.tokens(exchange.isWhole ?? true);
}

const word = 'data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n';
const role = 'data: {"choices":[{"delta":{"role":"assistant","content":""}}]}\n\n';
const usage = 'data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4}}\n\n';

test("the tokens of a response are those of its usage", () => {
  expect(tokensOf({ pieces: [role, word, usage, "data: [DONE]\n\n"] })).toBe(13);
  expect(
    tokensOf({ head: json, pieces: ['{"usage":{"prompt_tokens":9,"completion_tokens":4}}'] }),
  ).toBe(13);
});

test("without usage they are a quarter of the request's bytes and the chunks with content, however cut", () => {
  const text = role + word.repeat(10) + "data: [DONE]\n\n";
  expect(tokensOf({ pieces: [text] })).toBe(11 + 10);
  expect(tokensOf({ pieces: text.split("") })).toBe(11 + 10);
  expect(tokensOf({ pieces: text.match(/[^]{1,37}/g) ?? [] })).toBe(11 + 10);
});

test("a response that was cut off counts at least as estimated, whatever usage it began with", () => {
  expect(tokensOf({ pieces: [role, word, word], isWhole: false })).toBe(13);
  const early = 'data: {"choices":[],"usage":{"prompt_tokens":2,"completion_tokens":1}}\n\n';
  expect(tokensOf({ pieces: [early, word, word], isWhole: false })).toBe(13);
  expect(tokensOf({ pieces: [], isWhole: false })).toBe(11);
});

test("a response that is no stream, without usage, counts a quarter of its bytes too", () => {
  expect(tokensOf({ head: json, pieces: ["x".repeat(400)] })).toBe(11 + 100);
});

test("Anthropic's input is at the beginning of the stream, and its cached tokens count", () => {
  const pieces = [
    'data: {"type":"message_start","message":{"usage":{"input_tokens":9,"cache_read_input_tokens":100,"cache_creation_input_tokens":20,"output_tokens":1}}}\n\n',
    ...Array(300).fill('data: {"type":"content_block_delta","delta":{"text":"Hi"}}\n\n'),
    'data: {"type":"message_delta","usage":{"output_tokens":301}}\n\n',
  ];
  expect(tokensOf({ path: "/messages", pieces })).toBe(9 + 100 + 20 + 301);
  expect(tokensOf({ path: "/messages", pieces: pieces.slice(0, -1), isWhole: false })).toBe(
    Math.max(9 + 100 + 20 + 1, 11 + 300),
  );
});

test("embeddings have input only, and counting tokens costs none", () => {
  const answer = '{"data":[0.1,0.2],"usage":{"prompt_tokens":8,"total_tokens":8}}';
  expect(tokensOf({ path: "/embeddings", head: json, pieces: [answer] })).toBe(8);
  expect(tokensOf({ path: "/embeddings", head: json, pieces: ['{"data":[]}'] })).toBe(11);
  for (const path of ["/messages/count_tokens", "/responses/input_tokens"]) {
    expect(tokensOf({ path, head: json, pieces: ['{"input_tokens":80}'] })).toBe(0);
  }
});
