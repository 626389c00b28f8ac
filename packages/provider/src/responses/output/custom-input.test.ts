import { array, assert, boolean, constantFrom, property } from "fast-check";
import { expect, test } from "vitest";
import { CustomInput } from "./custom-input.ts";

function read(pieces: string[]) {
  const input = new CustomInput();
  const early = pieces.map((piece) => input.add(piece));
  const text = early.join("") + input.end();
  expect(input.text).toBe(text);
  return { early, text, isWhole: input.isWhole };
}

test("the text is known as far as the arguments have come", () => {
  expect(read(['{"input":"a', "b\\", 'n"', "}"])).toEqual({
    early: ["a", "b", "\n", ""],
    text: "ab\n",
    isWhole: true,
  });
});

const characters = constantFrom(
  "a",
  "u",
  '"',
  "\\",
  "/",
  "{",
  "}",
  "\n",
  "\t",
  "\0",
  "é",
  "\u2028",
  "🐻",
);

test("any text comes out as it went in, whole or character by character, however it was escaped", () => {
  assert(
    property(array(characters, { maxLength: 20 }), boolean(), (all, isAscii) => {
      const text = all.join("");
      const json = JSON.stringify({ input: text });
      const wire = isAscii ? escapedToAscii(json) : json;
      expect(read([wire])).toMatchObject({ text, isWhole: true });
      expect(read(wire.split(""))).toMatchObject({ text, isWhole: true });
    }),
    { numRuns: 200 },
  );
});

function escapedToAscii(json: string): string {
  return json.replaceAll(
    /[^\u0020-\u007e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

test("the halves of a character leave together", () => {
  expect(read(['{"input":"', "\\ud83d", "\\udc3b", '"}']).early).toEqual(["", "", "🐻", ""]);
  expect(read(['{"input":"\\ud83d\\ud', 'c3b"}']).early).toEqual(["", "🐻"]);
  expect(read(['{"input":"\\ud83d', "x", '"}']).early).toEqual(["", "\ud83dx", ""]);
});

test("text cut off is what came of it", () => {
  expect(read(['{"input":"abc\\'])).toEqual({ early: ["abc"], text: "abc", isWhole: false });
  expect(read(['{"input":"abc'])).toMatchObject({ text: "abc", isWhole: false });
});

test("line ends that should have been escaped are forgiven", () => {
  expect(read(['{"input":"a\nb\\q"}']).text).toBe("a\nb\\q");
});

test.each([
  ["*** Begin Patch"],
  [""],
  ['{"patch":"a"}'],
  ['{"input":7}'],
  [`${" ".repeat(300)}{"input":"a"}`],
])("arguments of another shape are handed out as they are, at the end: %s", (text) => {
  expect(read(text.split(""))).toEqual({
    early: text.split("").map(() => ""),
    text,
    isWhole: false,
  });
});
