import { describe, expect, test } from "vitest";
import { refusesStreamOptions } from "./stream-options.ts";

describe("a provider's refusal", () => {
  test.each([
    '{"error":{"message":"Unrecognized request argument supplied: stream_options"}}',
    '{"detail":[{"loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}',
    "unknown field `include_usage`",
    "Invalid input: stream_options is not supported",
    '{"detail":[{"loc":["body","stream_options"],"msg":"not permitted","input":{"include_usage":true}}]}',
  ])("names stream_options: %s", (text) => {
    expect(refusesStreamOptions(400, text)).toBe(true);
    expect(refusesStreamOptions(422, text)).toBe(true);
    expect(refusesStreamOptions(500, text)).toBe(false);
  });

  test.each(["", '{"error":{"message":"The field stream must be a boolean."}}', "options"])(
    "does not: %j",
    (text) => {
      expect(refusesStreamOptions(400, text)).toBe(false);
    },
  );

  test.each([
    `[{'loc': ('body', 'n'), 'msg': 'too large', 'input': {'stream_options': {'include_usage': True}}}]`,
    '{"detail":[{"loc":["body","n"],"msg":"too large","input":{"stream_options":{}}}]}',
    String.raw`{"message":"{\"msg\":\"too large\",\"input\":{\"stream_options\":{}}}"}`,
    "n is too large [type=value_error, input_value={'stream_options': {}}, input_type=dict]",
  ])("only repeats the request: %s", (text) => {
    expect(refusesStreamOptions(400, text)).toBe(false);
  });

  test.each([
    "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
    "stream_options should be set along with stream = true",
  ])("is about a client that requested no stream: %s", (text) => {
    expect(refusesStreamOptions(400, text)).toBe(false);
  });
});
