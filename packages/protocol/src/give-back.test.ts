import { expect, test } from "vitest";
import { giveBack, giveBackBehind } from "./give-back.ts";

test("memory that is given back has no bytes any more", () => {
  const bytes = Buffer.allocUnsafeSlow(8_192);
  giveBack(bytes);
  expect(bytes).toHaveLength(0);
});

test("memory behind a head is given back up to its end, when the head is not longer", () => {
  const parts = [9, 10].map((head) => Buffer.allocUnsafeSlow(10_000).subarray(head));
  const unended = Buffer.allocUnsafeSlow(10_000).subarray(9, -1);
  for (const part of [...parts, unended]) giveBackBehind(part, 9);
  expect([...parts, unended].map(({ length }) => length)).toEqual([0, 9_990, 9_990]);
});

test("short memory, parts and shared memory keep their bytes", () => {
  const part = Buffer.allocUnsafeSlow(10_000).subarray(1);
  const kept = [Buffer.allocUnsafeSlow(8_191), part, new Uint8Array(new SharedArrayBuffer(9_000))];
  kept.forEach(giveBack);
  expect(kept.map(({ length }) => length)).toEqual([8_191, 9_999, 9_000]);
});
