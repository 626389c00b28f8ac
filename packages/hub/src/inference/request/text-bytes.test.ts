import { expect, test } from "vitest";
import { textBytesOf } from "./text-bytes.ts";

function count(prompt: unknown, cutAt?: number): number {
  const body = Buffer.from(JSON.stringify({ model: "m", messages: prompt, user: "x".repeat(900) }));
  const start = body.indexOf('"messages":') + '"messages":'.length;
  const end = start + Buffer.byteLength(JSON.stringify(prompt));
  const chunks = cutAt === undefined ? [body] : [body.subarray(0, cutAt), body.subarray(cutAt)];
  return textBytesOf(chunks, { start, end });
}

const picture = Buffer.from("\u0000picture".repeat(500)).toString("base64");
const mixed = [
  { text: "What is this?" },
  { url: `data:image/png;base64,${picture}` },
  { url: 'data:image/svg+xml;utf8,<svg a=\\"1\\"/>' },
  { source: { type: "base64", data: picture } },
  { text: "And this? ".repeat(100) },
];

test("text counts as it is", () => {
  expect(count("word ".repeat(1_000))).toBe(5_002);
  expect(count("文字".repeat(1_000))).toBe(6_002);
});

test("data URLs and base64 do not count", () => {
  const words = JSON.stringify(mixed).length - 2 * picture.length;
  expect(count(mixed)).toBeLessThan(words);
  expect(count(mixed)).toBeGreaterThan(1_100);
});

test("the count is the same wherever the body is cut", () => {
  const whole = count(mixed);
  const length = JSON.stringify(mixed).length;
  for (let at = 0; at < length; at += 7) expect(count(mixed, at)).toBe(whole);
});
