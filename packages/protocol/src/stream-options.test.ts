import { describe, expect, test } from "vitest";
import { refusesStreamOptions } from "./stream-options.ts";

describe("a provider's refusal", () => {
  test.each([
    '{"error":{"message":"Unrecognized request argument supplied: stream_options"}}',
    '{"detail":[{"loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}',
    "unknown field `include_usage`",
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
});
