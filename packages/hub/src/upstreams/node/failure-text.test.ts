import { RESET_CODES } from "@roomhub/tunnel";
import { expect, test } from "vitest";
import { failureOf, failureText, refusalIn, refusalText } from "./failure-text.ts";

test("a failure is the same at the other hub, also one with spaces and other scripts", () => {
  const text = failureText("provider_timeout", "Das dauerte zu lange – 30 s.");
  expect(failureOf(RESET_CODES.internal, text)).toEqual({
    code: "provider_timeout",
    message: "Das dauerte zu lange – 30 s.",
  });
});

test.each([
  ["a lost link", RESET_CODES.tunnelLost, "tunnel closed: 1006"],
  ["a code that this hub does not know", RESET_CODES.internal, "strange_new_code It happened."],
  ["a session that has too many streams", RESET_CODES.overloaded, "4096 streams are open"],
  ["no reason", RESET_CODES.internal, ""],
  ["a word of Object", RESET_CODES.internal, "constructor of nothing"],
])("%s means that the other hub is not available", (_what, code, text) => {
  expect(failureOf(code, text).code).toBe("peer_unavailable");
  expect(refusalIn(text)).toBeUndefined();
});

test("a refusal fits into a RESET and is read back, whatever its message", () => {
  for (const message of ["full", "\u0001".repeat(2_000), "界".repeat(2_000)]) {
    const refusal = { reason: "full", message, elsewhere: 2, limit: 2 } as const;
    const text = refusalText(refusal);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1_024);
    expect(refusalIn(text)).toEqual({ ...refusal, message: message.slice(0, 150) });
  }
});

test.each(['{"reason":"bored","message":""}', '{"reason":"full"}', "[]", "null", "{"])(
  "%s is no refusal",
  (text) => {
    expect(refusalIn(text)).toBeUndefined();
  },
);

test("numbers of a refusal that are none are left out", () => {
  const text = '{"reason":"full","message":"m","elsewhere":-1,"limit":"2"}';
  expect(refusalIn(text)).toMatchObject({ elsewhere: undefined, limit: undefined });
});
