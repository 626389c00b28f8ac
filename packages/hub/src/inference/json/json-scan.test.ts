import {
  array,
  assert,
  constantFrom,
  integer,
  json,
  jsonValue,
  property,
  uint8Array,
} from "fast-check";
import { describe, expect, test } from "vitest";
import { cutBy, everyCut } from "../stream/cuts.fixture.ts";
import { JsonScanner, maxMembers } from "./json-scan.ts";
import { WantedKeys, wantedKeys } from "./wanted-keys.ts";

const wanted = new WantedKeys([
  ...wantedKeys(["model", "stream", "usage", "a", "é"], 100),
  ...wantedKeys(["present"], 0),
]);

/** A scanner that reads every member of the outermost object. */
class EveryKey extends WantedKeys {
  override find() {
    return { key: "any", maxKeptBytes: 100 };
  }
  override named() {
    return this.find();
  }
}
const everyKey = new EveryKey([]);
const noKey = new WantedKeys([]);

function scan(chunks: readonly Buffer[], keys = wanted) {
  const scanner = new JsonScanner({ wanted: keys, maxDepth: 64 });
  const isAlive = chunks.every((chunk) => scanner.push(chunk));
  return { scanner, isValid: isAlive && scanner.end() };
}

function isValid(text: string | Buffer, keys = wanted): boolean {
  return scan([Buffer.from(text)], keys).isValid;
}

/** What the hub takes: whatever JSON.parse takes for an object or an array. */
function isObjectOrArray(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null;
  } catch {
    return false;
  }
}

/** The same text with nothing in the strings that are no keys. */
function skeletonOf(text: string): string {
  const string = /"(?:[^"\\]|\\[^])*"(\s*:)?/g;
  return text.replaceAll(string, (all, colon?: string) => (colon === undefined ? '""' : all));
}

function membersOf(text: string) {
  return scan([Buffer.from(text)]).scanner.members.map(({ key, start, end }) => [
    key,
    Buffer.from(text).toString("utf8", start, end),
  ]);
}

describe("what is JSON", () => {
  test("is what JSON.parse takes for an object or an array", () => {
    assert(
      property(json(), (text) => {
        expect(isValid(text)).toBe(isObjectOrArray(text));
      }),
      { numRuns: 300 },
    );
  });

  test("stays so when characters are dropped, doubled, swapped or put in", () => {
    const noise = constantFrom(...Array.from('{}[]",:\\ \t\n0-+.eEtfnu1é\u0000\u2028'));
    const change = array(
      constantFrom("drop" as const, "double" as const, "insert" as const, "swap" as const),
      { minLength: 1, maxLength: 3 },
    );
    assert(
      property(jsonValue(), change, integer({ min: 0 }), noise, (value, changes, place, put) => {
        const letters = Array.from(
          JSON.stringify({ model: value, a: [value] }, undefined, place % 3),
        );
        for (const kind of changes) {
          const at = place % (letters.length + 1);
          const here = letters[at] ?? "";
          if (kind === "drop") letters.splice(at, 1);
          else if (kind === "double") letters.splice(at, 0, here);
          else if (kind === "insert") letters.splice(at, 0, put);
          else letters.splice(at, 2, letters[at + 1] ?? "", here);
        }
        const text = letters.join("");
        expect(isValid(text, everyKey), text).toBe(isObjectOrArray(text));
        expect(isValid(text, noKey), text).toBe(isObjectOrArray(skeletonOf(text)));
      }),
      { numRuns: 500 },
    );
  });

  test("is not found in noise where JSON.parse finds none", () => {
    const structural = array(constantFrom(...Array.from('{}[]",:\\ 1e.-truefalsn')), {
      maxLength: 12,
    });
    assert(
      property(structural, (letters) => {
        const text = letters.join("");
        expect(isValid(text), text).toBe(isObjectOrArray(skeletonOf(text)));
      }),
      { numRuns: 2_000 },
    );
    assert(
      property(uint8Array({ maxLength: 30 }), (bytes) => {
        const noise = Buffer.from(bytes);
        expect(isValid(noise)).toBe(isObjectOrArray(skeletonOf(noise.toString("utf8"))));
      }),
      { numRuns: 500 },
    );
  });

  test.each([
    "0",
    "-0",
    "1",
    "-1",
    "10",
    "01",
    "-",
    "--1",
    "+1",
    "1.",
    ".5",
    "1.5",
    "-1.50",
    "1.5.5",
    "1e",
    "1e5",
    "1E+5",
    "1e-5",
    "1e+",
    "1e5.5",
    "0e0",
    "00",
    "0x1",
    "1e5e5",
    "-a",
    "1-",
    "Infinity",
    "NaN",
    "123456789012345678901234567890",
    "1_000",
  ])("the number %s counts exactly when JSON.parse reads it", (number) => {
    for (const text of [`[${number}]`, `{"a":${number}}`, `[${number} ,1]`]) {
      expect(isValid(text), text).toBe(isObjectOrArray(text));
    }
  });

  test.each(["", " ", "null", "true", "1", '"x"', "{", "[", "{}{}", "[] x", "\ufeff{}", "{'a':1}"])(
    "%j is refused",
    (text) => {
      expect(isValid(text)).toBe(false);
    },
  );

  test.each([
    ["a bad escape", '"\\x"'],
    ["half a unicode escape", '"\\u12"'],
    ["a line feed", '"\n"'],
  ])(
    "%s is refused in a key and in a value that is read, and left alone elsewhere",
    (_what, bad) => {
      expect(isValid(`{${bad}:1}`)).toBe(false);
      expect(isValid(`{"b":{${bad}:1}}`)).toBe(false);
      expect(isValid(`{"model":${bad}}`)).toBe(false);
      expect(isValid(`{"metadata":1,"model":{"b":${bad}}}`)).toBe(false);
      expect(isValid(`{"b":${bad},"present":[${bad}]}`)).toBe(true);
    },
  );

  test("an unread string ends at the quote that no backslash escapes, wherever it is cut", () => {
    const inside = array(constantFrom("\\", '"', "x".repeat(40)), { maxLength: 8 });
    assert(
      property(inside, inside, (one, other) => {
        const text = `["${one.join("")}",{"b":"${other.join("")}"}]`;
        const bytes = Buffer.from(text);
        const isRight = isObjectOrArray(skeletonOf(text));
        for (const chunks of everyCut(bytes)) expect(scan(chunks).isValid, text).toBe(isRight);
        const single = Array.from(bytes, (byte) => Buffer.from([byte]));
        expect(scan(single).isValid, text).toBe(isRight);
      }),
      { numRuns: 100 },
    );
  });

  test("a problem is placed at its byte", () => {
    const { scanner } = scan(cutBy(Buffer.from('{"model": nope}'), [3]));
    expect(scanner.problem).toEqual({ kind: "syntax", offset: 11 });
    expect(scanner.push(Buffer.from("more"))).toBe(false);
  });
});

describe("depth", () => {
  test.each([
    ["arrays", "[", "]", ""],
    ["objects", '{"a":', "}", "1"],
  ])("%s may nest to the limit and no deeper", (_what, open, close, inside) => {
    const nested = (depth: number) => open.repeat(depth) + inside + close.repeat(depth);
    const at = (depth: number) => scan([Buffer.from(nested(depth))]);
    expect(at(64).isValid).toBe(true);
    expect(at(65).isValid).toBe(false);
    expect(at(65).scanner.problem?.kind).toBe("depth");
  });

  test("a hundred thousand brackets are refused at the limit, not walked", () => {
    const { scanner } = scan([Buffer.from("[".repeat(100_000))]);
    expect(scanner.problem).toEqual({ kind: "depth", offset: 64 });
  });
});

describe("members", () => {
  test.each([
    ["an escaped key", '{"mod\\u0065l":"x"}', [["model", '"x"']]],
    [
      "a key escaped letter by letter",
      '{"\\u006d\\u006F\\u0064\\u0065\\u006c":1}',
      [["model", "1"]],
    ],
    [
      "a key beyond ASCII",
      '{"é":1,"\\u00e9":2}',
      [
        ["é", "1"],
        ["é", "2"],
      ],
    ],
    [
      "every one of a repeated key",
      '{"a":1,"model":"x","a":[2]}',
      [
        ["a", "1"],
        ["model", '"x"'],
        ["a", "[2]"],
      ],
    ],
    [
      "only the outermost object's",
      '{"x":{"model":1},"a":{"model":{"a":2}}}',
      [["a", '{"model":{"a":2}}']],
    ],
    ["none of an array's", '[{"model":1},"model"]', []],
    ["none where the name is a value", '{"x":"model","y":"a"}', []],
    [
      "without the space around them",
      ' { "a" :  -1.5e3 , "stream"\n:\ttrue } ',
      [
        ["a", "-1.5e3"],
        ["stream", "true"],
      ],
    ],
    [
      "with quotes and braces inside",
      '{"a":"}\\",{","model":"\\\\"}',
      [
        ["a", '"}\\",{"'],
        ["model", '"\\\\"'],
      ],
    ],
    [
      "empty ones",
      '{"a":"","model":{},"stream":[]}',
      [
        ["a", '""'],
        ["model", "{}"],
        ["stream", "[]"],
      ],
    ],
    ["none under a near name", '{"Model":1,"model ":2,"mode":3,"":4}', []],
  ])("are found: %s", (_what, text, members) => {
    expect(isObjectOrArray(text)).toBe(true);
    expect(membersOf(text)).toEqual(members);
  });

  test("the last of a repeated key is the one that counts, as in JSON.parse", () => {
    const { scanner } = scan([Buffer.from('{"a":1,"a":2,"\\u0061":3}')]);
    expect(scanner.last("a")?.raw?.toString()).toBe("3");
    expect(scanner.last("model")).toBeUndefined();
    expect(scanner.has("a")).toBe(true);
  });

  test("come out the same from every cut", () => {
    const text =
      ' {"a":"é\\u00e9\\"","x":{"model":[1,"\\\\\\"\\\\"]},"present":["data:\\"","y"],"mod\\u0065l": -1.5e+3 ,"stream":true,"a":null}';
    const bytes = Buffer.from(text);
    const whole = scan([bytes]).scanner;
    for (const chunks of everyCut(bytes)) {
      const { scanner, isValid } = scan(chunks);
      expect(isValid).toBe(true);
      expect(scanner.members).toEqual(whole.members);
      expect(scanner.bodyStart).toBe(2);
    }
  });

  test("are captured up to the limit and only placed beyond it", () => {
    const text = (length: number) => Buffer.from(`{"a":"${"x".repeat(length - 2)}"}`);
    for (const chunks of [[text(100)], cutBy(text(100), [7])]) {
      expect(scan(chunks).scanner.last("a")?.raw).toHaveLength(100);
    }
    for (const chunks of [[text(101)], cutBy(text(101), [7])]) {
      expect(scan(chunks).scanner.last("a")).toEqual({
        key: "a",
        start: 5,
        end: 106,
        encodedBytes: 0,
        raw: undefined,
      });
    }
  });

  test("whose presence is all that counts are placed, and none of their bytes kept", () => {
    const bytes = Buffer.from('{"present":[1,{"a":2}]}');
    for (const chunks of everyCut(bytes)) {
      const { members } = scan(chunks).scanner;
      expect(members).toEqual([
        { key: "present", start: 11, end: 22, encodedBytes: 0, raw: undefined },
      ]);
    }
  });

  test("are copies: the chunks they came in may be used again", () => {
    const chunk = Buffer.from('{"a":"one"}');
    const { scanner } = scan([chunk]);
    chunk.fill(0);
    expect(scanner.last("a")?.raw?.toString()).toBe('"one"');
  });

  test("repeated beyond a bound are refused, so that a body cannot grow in memory", () => {
    const text = (count: number) => `{${Array(count).fill('"a":1').join(",")}}`;
    expect(isValid(text(maxMembers))).toBe(true);
    const { scanner, isValid: isTooMany } = scan([Buffer.from(text(maxMembers + 1))]);
    expect(isTooMany).toBe(false);
    expect(scanner.problem?.kind).toBe("repetition");
  });

  test.each([
    ["plain", "k"],
    ["escaped", "\\n"],
  ])("a %s key of a megabyte is passed over", (_what, letter) => {
    const text = `{"${letter.repeat(1_000_000)}":1,"a":2}`;
    expect(membersOf(text)).toEqual([["a", "2"]]);
  });
});
