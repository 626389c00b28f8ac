import { expect, test } from "vitest";
import { BodyBudget } from "../body-budget.ts";
import { Upload } from "./upload.ts";

const kib = 1024;

function start(heldBytes: number, budgetBytes = 4_096 * kib) {
  const budget = new BodyBudget(budgetBytes);
  budget.hold(heldBytes);
  const chunks = [Buffer.alloc(heldBytes)];
  const story: string[] = [];
  const upload = new Upload({
    ...{ chunks, heldBytes, budget, bytes: 5_000 * kib, nowMs: () => 7 },
    source: { pause: () => story.push("pause"), resume: () => story.push("resume") },
  });
  const target = (hasRoom = true) => ({
    written: 0,
    writeBody(chunk: Buffer) {
      this.written += chunk.length;
      return hasRoom;
    },
    endBody: () => story.push("end"),
  });
  return { upload, budget, chunks, story, target };
}

test("what has come is sent first, and its client goes on when that is taken", () => {
  const { upload, chunks, story, target } = start(3 * kib);
  const [fast, slow] = [target(), target(false)];
  upload.sendTo(slow, chunks);
  expect([slow.written, story]).toEqual([3 * kib, []]);
  upload.drained(slow);
  expect(upload.push(Buffer.alloc(kib))).toBe(false);
  upload.leave();
  upload.drained(slow);
  expect(story).toEqual(["resume", "pause"]);
  upload.sendTo(fast, chunks);
  expect(upload.push(Buffer.alloc(kib))).toBe(true);
  upload.end();
  expect([slow.written, fast.written, story.slice(2)]).toEqual([
    4 * kib,
    5 * kib,
    ["resume", "end"],
  ]);
});

test("its beginning is kept, within the budget, until 1 MiB has been taken", () => {
  const { upload, budget, chunks, target } = start(kib);
  upload.sendTo(target(), chunks);
  upload.push(Buffer.alloc(1_023 * kib));
  expect([upload.mayBeSentAgain(false), budget.bytes]).toEqual([true, 1_024 * kib]);
  upload.push(Buffer.alloc(kib));
  expect([upload.mayBeSentAgain(false), upload.mayBeSentAgain(true)]).toEqual([false, true]);
  upload.push(Buffer.alloc(kib));
  expect([upload.mayBeSentAgain(true), budget.bytes, chunks]).toEqual([false, 0, []]);
});

test("memory of what is not kept is given back, once its target has taken all of it", () => {
  const { upload, chunks } = start(kib, kib);
  const target = { isBodyTaken: false, writeBody: () => target.isBodyTaken, endBody() {} };
  upload.sendTo(target, chunks);
  const [waiting, taken, part] = [Buffer.alloc(9_000), Buffer.alloc(9_000), Buffer.alloc(9_000)];
  upload.push(waiting);
  expect(waiting).toHaveLength(9_000);
  target.isBodyTaken = true;
  upload.drained(target);
  expect(waiting).toHaveLength(0);
  upload.push(taken);
  expect(taken).toHaveLength(0);
  upload.push(part.subarray(1));
  expect(part).toHaveLength(9_000);
});

test("nothing more is kept where the hub holds all that it may", () => {
  const { upload, budget, chunks, target } = start(kib, kib);
  upload.sendTo(target(), chunks);
  expect(upload.push(Buffer.alloc(1))).toBe(true);
  expect([upload.mayBeSentAgain(true), budget.bytes]).toEqual([false, 0]);
});

test("a hold is released once, whatever ends it", () => {
  const { upload, budget, chunks } = start(kib);
  upload.release();
  expect([budget.bytes, chunks.length]).toEqual([0, 1]);
  upload.forget();
  upload.release();
  expect([budget.bytes, chunks.length]).toEqual([0, 0]);
});

test("its length follows from the client's, and from what takes the place of the model's name", () => {
  const { upload, chunks } = start(kib);
  expect(upload.bytesAs(chunks)).toBe(5_000 * kib);
  expect(upload.bytesAs([Buffer.alloc(10), Buffer.alloc(kib - 3)])).toBe(5_000 * kib + 7);
});
