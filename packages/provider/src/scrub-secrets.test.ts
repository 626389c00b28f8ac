import { expect, test } from "vitest";
import { scrubSecrets } from "./scrub-secrets.ts";

test("a secret is replaced whole, bare, and as JSON escapes it", () => {
  const secrets = ["Bearer abcd-1234", 'q"uote'];
  expect(scrubSecrets("a Bearer abcd-1234 b abcd-1234 c", secrets)).toBe(
    "a [redacted] b [redacted] c",
  );
  expect(scrubSecrets(JSON.stringify({ error: 'key q"uote' }), secrets)).toBe(
    '{"error":"key [redacted]"}',
  );
});

test("keys in OpenAI's form go, whoever's they are", () => {
  expect(scrubSecrets("Incorrect API key: sk-proj_AbCd-1234.", [])).toBe(
    "Incorrect API key: [redacted].",
  );
  expect(scrubSecrets("risk-free sk-short", [])).toBe("risk-free sk-short");
});

test("the longer of two overlapping secrets goes first; very short ones are left", () => {
  expect(scrubSecrets("abcdefgh abcdef 1", ["abcdef", "abcdefgh", "1", ""])).toBe(
    "[redacted] [redacted] 1",
  );
});
