import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { FlushingResponses } from "./flushing-responses.ts";

/** An answer that has ended, with so many bytes its client has not taken. */
class Answer extends EventEmitter {
  closed = false;
  writableLength: number;
  isDestroyed = false;

  constructor(unsentBytes: number) {
    super();
    this.writableLength = unsentBytes;
  }

  destroy(): void {
    this.isDestroyed = true;
    this.emit("close");
  }
}

function flushing(...answers: Answer[]) {
  const all = new FlushingResponses(1_000, () => 0);
  for (const answer of answers) all.note(answer as unknown as ServerResponse);
  return all;
}

test("a client that takes nothing of what is left is cut off", () => {
  const answer = new Answer(500);
  const all = flushing(answer);
  all.tick(1_000);
  expect(answer.isDestroyed).toBe(false);
  all.tick(1_001);
  expect(answer.isDestroyed).toBe(true);
});

test("a client that takes some now and then has its time", () => {
  const answer = new Answer(500);
  const all = flushing(answer);
  for (let ms = 900; ms < 4_000; ms += 900) {
    answer.writableLength -= 10;
    all.tick(ms);
  }
  expect(answer.isDestroyed).toBe(false);
});

test("what has left, or nothing is left of, is looked at no more", () => {
  const [gone, taken] = [new Answer(500), new Answer(0)];
  const all = flushing(gone, taken);
  gone.emit("close");
  all.tick(5_000);
  expect([gone.isDestroyed, taken.isDestroyed]).toEqual([false, false]);
});
