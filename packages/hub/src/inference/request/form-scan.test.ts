import { array, assert, integer, property } from "fast-check";
import { describe, expect, test } from "vitest";
import {
  propertyRuns,
  propertyTimeoutMs,
  SEEDS,
} from "../../../../../tests/support/property-runs.ts";
import { cutBy, everyCut } from "../stream/cuts.fixture.ts";
import { type FormField, FormScanner } from "./form-scan.ts";

const boundary = "x-1";

function scan(chunks: readonly Buffer[]): { fields: FormField[]; problem: string | undefined } {
  const scanner = new FormScanner(boundary, ["model", "stream"], 16);
  const isRead = chunks.every((chunk) => scanner.push(chunk));
  if (isRead) scanner.end();
  return { fields: scanner.fields, problem: scanner.problem };
}

function part(disposition: string, value: string): string {
  return `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${value}\r\n`;
}
const end = `--${boundary}--\r\n`;
const form = (...parts: string[]): Buffer => Buffer.from(parts.join("") + end, "latin1");
const file = `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="a;name=model.wav"\r\nContent-Type: audio/wav\r\n\r\nRIFF\r\n--x-\r\r\n--\r\n-\r\n`;

describe("wanted fields", () => {
  const whole = form(file, part('name="model"', "tiny"), part('name="stream"', "true"));
  const expected = [
    { name: "model", value: "tiny" },
    { name: "stream", value: "true" },
  ];

  test("are found in any cut, where they stand", () => {
    for (const chunks of everyCut(whole)) {
      const { fields, problem } = scan(chunks);
      expect(problem).toBeUndefined();
      expect(fields).toMatchObject(expected);
      for (const { start, end: to, value } of fields) {
        expect(whole.toString("latin1", start, to)).toBe(value);
      }
    }
  });

  test.each([
    ["name=model", "a"],
    ['filename*=x; name="model"', undefined],
    ['name="mo\\del"', "a"],
    ['name="model"; filename="x"', undefined],
  ])("by %j have the value %j", (disposition, value) => {
    expect(scan([form(part(disposition, "a"))]).fields).toMatchObject([{ name: "model", value }]);
  });

  test("that are long are not kept", () => {
    expect(scan([form(part('name="model"', "m".repeat(17)))]).fields[0]?.value).toBeUndefined();
    expect(scan([form(part('name="model"', "m".repeat(16)))]).fields[0]?.value).toHaveLength(16);
  });

  test("may be empty, and text may stand before the first boundary and behind the last", () => {
    const padded = `before\r\n${part('name="model"', "")}${end}behind`;
    expect(scan([Buffer.from(padded)])).toMatchObject({
      fields: [{ name: "model", value: "" }],
      problem: undefined,
    });
  });
});

describe("a problem is", () => {
  test.each([
    ["nothing", ""],
    ["half a form", part('name="model"', "a")],
    ["another boundary", part('name="model"', "a").replaceAll("x-1", "y-1")],
    ["a boundary that goes on", `${part('name="model"', "a")}--${boundary}1\r\n\r\n${end}`],
    ["a boundary with a blank", `${part('name="model"', "a")}--${boundary} \r\n\r\n${end}`],
    ["a part without a name", part('filename="x"', "a") + end],
    ["a name that is there twice", part('name="file"; name="model"', "a") + end],
    ["a quote that is left open", part('name="model', "a") + end],
    ["another disposition", `--x-1\r\nContent-Disposition: inline; name=model\r\n\r\na\r\n${end}`],
    [
      "two dispositions",
      `--x-1\r\nContent-Disposition: form-data; name=a\r\nContent-Disposition: form-data; name=model\r\n\r\na\r\n${end}`,
    ],
    [
      "a folded header",
      `--x-1\r\nContent-Disposition: form-data;\r\n name=model\r\n\r\na\r\n${end}`,
    ],
    ["long headers", part(`name="${"n".repeat(17_000)}"`, "a") + end],
    ["many parts", part('name="a"', "").repeat(1_001) + end],
  ])("%s", (_what, text) => {
    expect(scan([Buffer.from(text)]).problem).toBeDefined();
  });
});

test.each(SEEDS)(
  "a mutated form is read the same in every cut, with seed %d",
  (seed) => {
    const whole = form(file, part('name="model"', "tiny"), part('name="stream"', "true"));
    assert(
      property(
        array(integer({ min: 0, max: whole.length - 1 }), { minLength: 1, maxLength: 3 }),
        integer({ min: 0, max: 255 }),
        array(integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 }),
        (places, byte, lengths) => {
          const mutated = Buffer.from(whole);
          for (const at of places) mutated[at] = byte;
          expect(scan(cutBy(mutated, lengths))).toEqual(scan([mutated]));
        },
      ),
      propertyRuns(seed, 10_000),
    );
  },
  propertyTimeoutMs,
);
