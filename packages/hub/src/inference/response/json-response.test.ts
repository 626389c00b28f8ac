import { describe, expect, test } from "vitest";
import { HubError } from "../../errors.ts";
import { cutBy, everyCut } from "../stream/cuts.fixture.ts";
import { JsonResponse } from "./json-response.ts";

function run(chunks: readonly Buffer[]) {
  const json = new JsonResponse("ana", false);
  const sent = chunks.map((chunk) => json.push(chunk, 0)).filter((chunk) => chunk !== undefined);
  const rest = json.end();
  return { text: Buffer.concat([...sent, rest]).toString(), early: sent.length, json };
}

function refusalOf(text: string): HubError {
  try {
    run([Buffer.from(text)]);
  } catch (error) {
    if (error instanceof HubError) return error;
  }
  throw new Error(`${text} was not refused`);
}

const chat =
  '{"object":"chat.completion","choices":[{"message":{"content":"\u00e9"}}],"usage":{"prompt_tokens":1,"completion_tokens":2}}';

test("a small response is held until it is whole, in every cut, and its usage is read", () => {
  for (const chunks of everyCut(Buffer.from(chat))) {
    const { text, early, json } = run(chunks);
    expect([text, early]).toEqual([chat, 0]);
    expect(json.usage).toEqual({ inputTokens: 1, outputTokens: 2, totalTokens: 3 });
    expect(json.length).toBe(Buffer.byteLength(chat));
  }
});

test.each([
  ['{"id":"resp_1","object":"response","output":[{"id":"msg_1"}]}', "resp_1"],
  ['{"output":[{"id":"msg_1"}],"id":"resp_1"}', "resp_1"],
  ['{"id":"","output":[]}', undefined],
  ['{"id":7,"output":[]}', undefined],
  [`{"id":"${"x".repeat(9_000)}"}`, undefined],
  ['{"output":[{"id":"msg_1"}]}', undefined],
])("the response in %j can be named later as %j", (text, responseId) => {
  for (const chunks of [[Buffer.from(text)], cutBy(Buffer.from(text), [3])]) {
    expect(run(chunks).json.responseId).toBe(responseId);
  }
});

test("a long one flows on after 64 KiB, unchanged", () => {
  const long = `{"choices":[],"pad":"${"x".repeat(200_000)}","usage":{"input_tokens":4}}`;
  const { text, early, json } = run(cutBy(Buffer.from(long), [10_000]));
  expect(text).toBe(long);
  expect(early).toBeGreaterThan(10);
  expect(json.usage).toEqual({ inputTokens: 4 });
});

test("what is held does not change with the buffer it came in", () => {
  const json = new JsonResponse("ana", false);
  const window = Buffer.from('{"a":1}');
  json.push(window, 0);
  window.fill(0);
  expect(json.end().toString()).toBe('{"a":1}');
});

describe("a body that is no JSON object or array", () => {
  test.each(["", "<html>", '{"choices":[', '"text"', "null", "1", "{}{}", "data: {}\n\n"])(
    "is refused: %j",
    (text) => {
      expect(refusalOf(text).code).toBe("provider_invalid_response");
    },
  );

  test("is refused as soon as it is certain, without waiting for its end", () => {
    expect(() => new JsonResponse("ana", false).push(Buffer.from("<!doctype html>"), 0)).toThrow(
      "ana",
    );
  });
});

describe("an error with status 200", () => {
  test.each([
    ['{"error":"model not loaded"}', "model not loaded"],
    ['{"error":{"message":"no memory"}}', "no memory"],
    ['{"error":{}}', "no message"],
    ['{"error":true}', "no message"],
    [`{"error":{"message":"${"x".repeat(9_000)}"}}`, "no short message"],
  ])("%s", (text, message) => {
    const error = refusalOf(text);
    expect(error.code).toBe("provider_error");
    expect(error.message).toBe(`The provider of ana responded 200 with an error: ${message}`);
  });

  test.each([
    '{"error":null,"id":"resp_1"}',
    '{"error":false}',
    '{"error":""}',
    '{"object":"response","status":"failed","error":{"message":"refused"}}',
    '{"x":{"error":"inner"}}',
    "[]",
  ])("is not %s", (text) => {
    expect(run([Buffer.from(text)]).text).toBe(text);
  });
});
