import { expect, test } from "vitest";
import { scrubSecrets } from "./secret-forms.ts";

test("a secret is replaced whole, bare, and as JSON escapes it", () => {
  const secrets = ["Bearer abcd-1234", 'q"uoted-key'];
  expect(scrubSecrets("a Bearer abcd-1234 b abcd-1234 c", secrets)).toBe(
    "a Bearer [redacted] b [redacted] c",
  );
  expect(scrubSecrets(JSON.stringify({ error: 'key q"uoted-key' }), secrets)).toBe(
    '{"error":"key [redacted]"}',
  );
});

test("keys in OpenAI's form are removed, whatever their origin", () => {
  expect(scrubSecrets("Incorrect API key: sk-proj_AbCd-1234.", [])).toBe(
    "Incorrect API key: [redacted].",
  );
  expect(scrubSecrets("risk-free sk-short", [])).toBe("risk-free sk-short");
});

test("the longer of two overlapping secrets goes first; short ones are left", () => {
  expect(scrubSecrets("abcdefghij abcdefgh 1", ["abcdefgh", "abcdefghij", "1", ""])).toBe(
    "[redacted] [redacted] 1",
  );
});
