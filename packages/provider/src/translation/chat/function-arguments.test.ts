import { expect, test } from "vitest";
import { FunctionArguments } from "./tool-calls.ts";

function isWholeAfter(pieces: string[]): boolean {
  const args = new FunctionArguments();
  for (const piece of pieces) expect(args.add(piece)).toBe(piece);
  expect(args.text).toBe(pieces.join(""));
  return args.isWhole;
}

test.each([["{}"], [' {"a": [1, {"b": "}"}]} \n'], ['{"a":"\\"}{"}'], ['{"a":"\\\\"}']])(
  "%s is whole at its last brace and not before",
  (json) => {
    const last = json.lastIndexOf("}");
    for (let cut = 0; cut <= json.length; cut++) {
      const isWhole = cut > last;
      expect(isWholeAfter([json.slice(0, cut)])).toBe(isWhole);
      expect(isWholeAfter(json.slice(0, cut).split(""))).toBe(isWhole);
    }
  },
);

test.each([[""], ["null"], ['"{}"'], ["{"], ['{"a":"}'], ["}"]])(
  "%s is no whole object",
  (text) => {
    expect(isWholeAfter([text])).toBe(false);
  },
);

test("arguments that are sent again are passed on once", () => {
  const args = new FunctionArguments();
  expect([args.add('{"a":1}'), args.add('{"a":1}')]).toEqual(['{"a":1}', ""]);
  expect(args.text).toBe('{"a":1}');
});

test("a piece that only looks like the one before is not taken for it", () => {
  const args = new FunctionArguments();
  for (const piece of ['{"a":"', "x", "x", '"}']) args.add(piece);
  expect(args.text).toBe('{"a":"xx"}');
});
