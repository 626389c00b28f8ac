import { crc32 } from "node:zlib";
import { expect, test } from "vitest";
import { giveBackBody } from "./request-body.ts";
import { RequestBodyReader } from "./request-head.ts";

const start = '{"model":"*","x":"';

function bodyOf(chunks: Buffer[], hasOnlyReader = true) {
  const reader = new RequestBodyReader(64, hasOnlyReader, crc32);
  for (const chunk of [Buffer.from(start), ...chunks, Buffer.from('"}')]) reader.push(chunk);
  return reader.end();
}

test("the memory of a long body is given back, chunk by chunk", () => {
  const chunks = [Buffer.alloc(60_000, "x"), Buffer.alloc(60_000, "x")];
  giveBackBody(bodyOf(chunks));
  expect(chunks.map(({ length }) => length)).toEqual([0, 0]);
});

test("a chunk that shares its memory with others is left alone", () => {
  const shared = Buffer.alloc(200_000, "x");
  giveBackBody(bodyOf([shared.subarray(0, 100_000)]));
  expect(shared).toHaveLength(200_000);
});

test("a body that others read too is left alone", () => {
  const chunk = Buffer.alloc(100_000, "x");
  giveBackBody(bodyOf([chunk], false));
  expect(chunk).toHaveLength(100_000);
});

test("a short body is left to the collector", () => {
  const chunk = Buffer.alloc(1_000, "x");
  giveBackBody(bodyOf([chunk]));
  expect(chunk).toHaveLength(1_000);
});
