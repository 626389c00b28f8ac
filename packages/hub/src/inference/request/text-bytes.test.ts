import { crc32 } from "node:zlib";
import { expect, test } from "vitest";
import { RequestBodyReader } from "./request-head.ts";

function count(prompt: unknown, cutAt?: number): number {
  const body = bodyOf(prompt);
  const reader = new RequestBodyReader(64, true, crc32);
  reader.push(body.subarray(0, cutAt));
  if (cutAt !== undefined) reader.push(body.subarray(cutAt));
  return reader.end().textBytes;
}

function bodyOf(messages: unknown): Buffer {
  return Buffer.from(JSON.stringify({ model: "m", messages, user: "x".repeat(900) }));
}

const picture = Buffer.from("\u0000picture".repeat(500)).toString("base64");
const mixed = [
  { text: "What is this?" },
  { url: `data:image/png;base64,${picture}` },
  { url: 'data:image/svg+xml;utf8,<svg a="1"/>' },
  { source: { type: "base64", data: picture } },
  { text: "data" },
  { text: "And this? ".repeat(100) },
];

test("text counts as it is", () => {
  expect(count("word ".repeat(1_000))).toBe(5_002);
  expect(count("文字".repeat(1_000))).toBe(6_002);
});

test("data URLs and base64 do not count", () => {
  const encoded = [mixed[1]?.url, mixed[2]?.url, mixed[3]?.source?.data];
  const encodedBytes = JSON.stringify(encoded).length - '["","",""]'.length;
  expect(count(mixed)).toBe(JSON.stringify(mixed).length - encodedBytes);
});

test("base64 is what begins with 512 of its characters", () => {
  expect(count("A".repeat(511))).toBe(513);
  expect(count("A".repeat(512))).toBe(2);
  expect(count(`${"A".repeat(511)} ${"A".repeat(600)}`)).toBe(1_114);
});

test("the count is the same wherever the body is cut", () => {
  const whole = count(mixed);
  for (let at = 0; at < bodyOf(mixed).length; at += 7) expect(count(mixed, at)).toBe(whole);
});
