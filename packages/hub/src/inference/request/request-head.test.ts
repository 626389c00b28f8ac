import { crc32 } from "node:zlib";
import { describe, expect, test } from "vitest";
import { HubError } from "../../errors.ts";
import type { RequestBody } from "./request-body.ts";
import { RequestBodyReader } from "./request-head.ts";

function readChunks(chunks: readonly Buffer[]): RequestBody {
  const reader = new RequestBodyReader(64, true, crc32);
  for (const chunk of chunks) reader.push(chunk);
  return reader.end();
}

const read = (text: string): RequestBody => readChunks([Buffer.from(text)]);

function refusalOf(action: () => unknown): { code: string; param: string } {
  try {
    action();
  } catch (error) {
    if (error instanceof HubError) return { code: error.code, param: error.param };
    throw error;
  }
  throw new Error("it was not refused");
}

test.each([
  [{}, undefined],
  [{ user: "bob" }, "bob"],
  [{ user: "bob", safety_identifier: "b-7" }, "b-7"],
  [{ user: "bob", safety_identifier: "" }, "bob"],
  [{ user: { name: "bob" } }, undefined],
  [{ user: "b".repeat(5_000) }, undefined],
  [{ messages: [{ user: "bob" }] }, undefined],
])("of %j the user is %s", (fields, user) => {
  expect(read(JSON.stringify({ model: "a", ...fields })).user).toBe(user);
});

describe("what is read", () => {
  test.each([
    ['{"model":"a"}', "a"],
    ['{"model":"a","model":"b"}', "b"],
    ['{"model":"a","mod\\u0065l":"b"}', "b"],
    ['{"x":{"model":"no"},"model":"\\u0061\\"\\\\"}', 'a"\\'],
    ['{"model":"Gr\u00fc\u00dfe \u{1f600}"}', "Gr\u00fc\u00dfe \u{1f600}"],
    [' \n{"model":"a"}\t', "a"],
  ])("%s asks for %s", (text, model) => {
    expect(read(text).model).toBe(model);
    expect(read(text).model).toBe((JSON.parse(text) as { model: string }).model);
  });

  test.each([
    ["true", true],
    ["false", false],
    ["null", false],
    ["1", false],
    ['"true"', false],
    ["[true]", false],
    ['{"stream":true}', false],
  ])("stream is asked for by true alone: %s", (value, isStream) => {
    expect(read(`{"model":"a","stream":${value}}`).isStream).toBe(isStream);
  });

  test("the last of two streams decides, and no stream is none", () => {
    expect(read('{"model":"a","stream":false,"stream":true}').isStream).toBe(true);
    expect(read('{"model":"a","stream":true,"stream":false}').isStream).toBe(false);
    expect(read('{"model":"a","x":{"stream":true}}').isStream).toBe(false);
  });

  test("the last of two service tiers decides whether it is flex", () => {
    expect(read('{"model":"a","service_tier":"auto","service_tier":"flex"}').isFlex).toBe(true);
    expect(read('{"model":"a","service_tier":"flex","service_tier":"auto"}').isFlex).toBe(false);
    expect(read('{"model":"a","x":{"service_tier":"flex"}}').isFlex).toBe(false);
  });
});

describe("the answer a request goes on from", () => {
  test.each([
    ['"resp_1"', "resp_1"],
    ['"a\\u0062"', "ab"],
    ["null", undefined],
    ['""', undefined],
    ["7", undefined],
    ['{"id":"resp_1"}', undefined],
  ])("is a text that is not empty: %s", (value, expected) => {
    const body = read(`{"model":"a","previous_response_id":${value}}`);
    expect(body.previousResponseId).toBe(expected);
  });

  test("is read at the top only, and none is none", () => {
    const body = read('{"model":"a","x":{"previous_response_id":"resp_1"}}');
    expect(body.previousResponseId).toBeUndefined();
  });
});

describe("what is refused", () => {
  test.each([
    ["", "invalid_json", ""],
    ["   ", "invalid_json", ""],
    ["{bad", "invalid_json", ""],
    ['{"model":"a"', "invalid_json", ""],
    ['{"model":"a"}}', "invalid_json", ""],
    ["null", "invalid_type", ""],
    ['"x"', "invalid_type", ""],
    ["[]", "invalid_type", ""],
    ['[{"model":"a"}]', "invalid_type", ""],
    ["{}", "missing_required_parameter", "model"],
    ['{"x":{"model":"a"}}', "missing_required_parameter", "model"],
    ['{"model":1}', "invalid_type", "model"],
    ['{"model":null}', "invalid_type", "model"],
    ['{"model":["a"]}', "invalid_type", "model"],
    ['{"model":{"a":1}}', "invalid_type", "model"],
    ['{"model":""}', "invalid_type", "model"],
    ['{"model":"a","model":1}', "invalid_type", "model"],
    [`{"model":"${"x".repeat(5_000)}"}`, "field_too_large", "model"],
    [`{${'"model":"a",'.repeat(300)}"x":1}`, "field_too_large", ""],
  ])("%s", (text, code, param) => {
    expect(refusalOf(() => read(text))).toEqual({ code, param });
  });

  test("a body nested a hundred thousand deep, while it is still arriving", () => {
    const reader = new RequestBodyReader(64, true, crc32);
    const deep = Buffer.from(`{"model":"a","x":${"[".repeat(100_000)}`);
    expect(refusalOf(() => reader.push(deep)).code).toBe("field_too_large");
  });

  test("an empty body is reported as empty, a malformed one with its offset", () => {
    expect(() => read("")).toThrow("The request body is empty");
    expect(() => read('{"model":nope}')).toThrow("not valid JSON (at byte 10)");
  });
});
