import { array, assert, constantFrom, integer, nat, property } from "fast-check";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { mostBytesPerToken } from "../../domain/needs/demand.ts";
import { countText } from "./least-text.ts";

interface Counted {
  name: string;
  part: string;
  times: number;
  /** of four real tokenizers, the fewest */
  tokens: number;
}

const fixtures = new URL("../../../../../tests/fixtures/tokens/counts.json", import.meta.url);
const { texts } = JSON.parse(readFileSync(fixtures, "utf8")) as { texts: Counted[] };

const ascii = (json: string) =>
  json.replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
const spellings = { "UTF-8": (json: string) => json, ASCII: ascii };

/** The value as one chunk, between others. */
function count(json: string): number {
  return countText(
    [Buffer.from("{"), Buffer.from(json), Buffer.from("}")],
    1,
    1 + Buffer.byteLength(json),
  );
}

describe.each(Object.entries(spellings))("a prompt written in %s", (_name, spell) => {
  test.each(texts)("has no more tokens by its bound than any tokenizer counts: $name", (text) => {
    const content = text.part.repeat(text.times);
    const json = spell(JSON.stringify([{ role: "user", content }]));
    expect(count(json) / mostBytesPerToken).toBeLessThanOrEqual(text.tokens);
  });
});

test("the bound of a conversation of such texts is below the sum of their tokens, in any cut", () => {
  const turns = array(constantFrom(...texts), { minLength: 1, maxLength: 8 });
  assert(
    property(
      turns,
      constantFrom(...Object.values(spellings)),
      array(nat()),
      (chosen, spell, cuts) => {
        const messages = chosen.map(({ part, times }) => ({
          role: "user",
          content: part.repeat(times),
        }));
        const bytes = Buffer.from(spell(JSON.stringify(messages)));
        const places = [...new Set(cuts.map((cut) => cut % bytes.length))].sort((a, b) => a - b);
        const chunks = [0, ...places].map((from, index) => bytes.subarray(from, places[index]));
        const tokens = chosen.reduce((sum, one) => sum + one.tokens, 0);
        const whole = countText([bytes], 0, bytes.length);
        expect(whole / mostBytesPerToken).toBeLessThanOrEqual(tokens);
        expect(countText(chunks, 0, bytes.length)).toBe(whole);
      },
    ),
  );
});

test("an ordinary text has at least a quarter of its characters as the bound", () => {
  assert(
    property(integer({ min: 1, max: 50 }), (times) => {
      const text = "The quick brown fox jumps over the lazy dog. ".repeat(2 * times);
      expect(count(JSON.stringify([text]))).toBeGreaterThan(0.9 * text.length);
    }),
  );
});

test.each([
  ["pictures", `data:image/png;base64,${"iVBORw0KGgo".repeat(100)}`],
  ["base64", "aGVsbG8gd29ybGQ".repeat(100)],
  ["ids", "call_0123456789abcdef"],
])("%s are no text", (_what, value) => {
  expect(count(JSON.stringify([{ value }]))).toBe(0);
});
