import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  escapeUnprintable,
  isDeeperThan,
  normalisedText,
  plainText,
  printable,
  utf8Length,
} from "./text.ts";

const nickname = plainText("nickname", 64);

test.each(["Ana", "Ana's MacBook", "李雷", "שלום", "👩‍👩‍👧‍👦", "  spaced  ", "<b>Ana</b>", "__proto__"])(
  "%s is a valid name",
  (text) => {
    expect(nickname.parse(text)).toBe(text);
  },
);

test.each([
  ["NUL", "\u0000"],
  ["a line feed", "\n"],
  ["a carriage return", "\r"],
  ["a tab", "\t"],
  ["ESC", "\u001b"],
  ["DEL", "\u007f"],
  ["NEL", "\u0085"],
  ["CSI", "\u009b"],
  ["a line separator", "\u2028"],
  ["a paragraph separator", "\u2029"],
  ["a left-to-right embedding", "\u202a"],
  ["a right-to-left override", "\u202e"],
  ["an isolate", "\u2066"],
  ["the end of an isolate", "\u2069"],
])("a name with %s is refused", (_title, character) => {
  for (const text of [character, `Ana${character}`, `${character}Ana`, `A${character}na`]) {
    expect(nickname.safeParse(text).success).toBe(false);
  }
});

test.each([[""], ["   "], ["\u00a0"], [12], [null], [["Ana"]]])("%j is not a name", (value) => {
  expect(nickname.safeParse(value).success).toBe(false);
});

test("the length is counted in code points: 64 bears are accepted, 65 are not", () => {
  expect(nickname.safeParse("🐻".repeat(64)).success).toBe(true);
  expect(nickname.safeParse("🐻".repeat(65)).success).toBe(false);
});

test("a name is not normalised", () => {
  for (const text of ["Ba\u0308r", "B\u00e4r"]) expect(nickname.parse(text)).toBe(text);
});

test("a normalised name is in form NFC, and its length is checked before and after", () => {
  const normalised = normalisedText("nickname", 64);
  expect(normalised.parse("Ba\u0308r")).toBe("B\u00e4r");
  // One letter that is two in NFC.
  expect(normalised.parse("\u0958".repeat(32))).toBe("\u0915\u093c".repeat(32));
  const tooLong = (text: string) => normalised.safeParse(text).error?.issues;
  const issue = {
    code: "custom",
    message: "nickname must be at most 64 characters",
    params: { tooLarge: true },
  };
  expect(tooLong("\u0958".repeat(33))).toMatchObject([issue]);
  expect(tooLong("a\u0308".repeat(33))).toMatchObject([issue]);
});

test("printable text keeps its length and has no control characters", () => {
  expect(printable("a\u001b[2J\r\n[service] llm.complete\u202e\u2028é🐻")).toBe(
    "a\ufffd[2J\ufffd\ufffd[service] llm.complete\ufffd\ufffdé🐻",
  );
});

test("escaped JSON has no control characters and the same value", () => {
  const value = {
    "\u009b31m": "\u001b[2J\u007f\u0085\u202ereversed\u202c\u2066\u2069\u2028\u2029é🐻\n",
  };
  const text = escapeUnprintable(JSON.stringify(value));
  expect(text).toBe(
    String.raw`{"\u009b31m":"\u001b[2J\u007f\u0085\u202ereversed\u202c\u2066\u2069\u2028\u2029é🐻\n"}`,
  );
  expect(JSON.parse(text)).toEqual(value);
  fc.assert(
    fc.property(fc.json(), (json) => {
      expect(JSON.parse(escapeUnprintable(json))).toEqual(JSON.parse(json));
    }),
  );
});

test("utf8Length is the length TextEncoder writes", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(utf8Length(text)).toBe(new TextEncoder().encode(text).length);
    }),
  );
  expect(utf8Length("\ud83d")).toBe(3);
});

function nested(depth: number, innermost: unknown, wrap: (inner: unknown) => unknown): unknown {
  let value = innermost;
  for (let level = 0; level < depth; level++) value = wrap(value);
  return value;
}

test.each([
  ["lists", (inner: unknown) => [inner]],
  ["objects", (inner: unknown) => ({ inner })],
])("nesting is counted in %s, with and without content in the innermost one", (_title, wrap) => {
  expect(isDeeperThan(nested(8, 1, wrap), 8)).toBe(false);
  expect(isDeeperThan(nested(9, 1, wrap), 8)).toBe(true);
  expect(isDeeperThan(nested(7, [], wrap), 8)).toBe(false);
  expect(isDeeperThan(nested(8, [], wrap), 8)).toBe(true);
  expect(isDeeperThan(nested(8, {}, wrap), 8)).toBe(true);
});

test.each([[1], ["text"], [null], [true]])("%j has no depth", (value) => {
  expect(isDeeperThan(value, 0)).toBe(false);
});

test("a hundred thousand levels do not overflow the stack", () => {
  const deep: unknown = JSON.parse("[".repeat(100_000) + "]".repeat(100_000));
  expect(isDeeperThan(deep, 8)).toBe(true);
  expect(isDeeperThan(deep, 99_999)).toBe(true);
  expect(isDeeperThan(deep, 100_000)).toBe(false);
});
