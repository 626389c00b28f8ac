import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { LeavingAnswers } from "./leaving-answers.ts";

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

function leaving(...answers: Answer[]) {
  const all = new LeavingAnswers(1_000, () => 0);
  for (const answer of answers) all.note(answer as unknown as ServerResponse);
  return all;
}

test("a client that takes nothing of what is left is cut off", () => {
  const answer = new Answer(500);
  const all = leaving(answer);
  all.tick(1_000);
  expect(answer.isDestroyed).toBe(false);
  all.tick(1_001);
  expect(answer.isDestroyed).toBe(true);
});

test("a client that takes some now and then has its time", () => {
  const answer = new Answer(500);
  const all = leaving(answer);
  for (let ms = 900; ms < 4_000; ms += 900) {
    answer.writableLength -= 10;
    all.tick(ms);
  }
  expect(answer.isDestroyed).toBe(false);
});

test("what has left, or nothing is left of, is looked at no more", () => {
  const [gone, taken] = [new Answer(500), new Answer(0)];
  const all = leaving(gone, taken);
  gone.emit("close");
  all.tick(5_000);
  expect([gone.isDestroyed, taken.isDestroyed]).toEqual([false, false]);
});
