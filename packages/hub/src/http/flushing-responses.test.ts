import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { FlushingResponses } from "./flushing-responses.ts";

/** A response that has ended, with so many bytes its client has not taken. */
class EndedResponse extends EventEmitter {
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

function flushing(...responses: EndedResponse[]) {
  const all = new FlushingResponses(1_000, () => 0);
  for (const response of responses) all.note(response as unknown as ServerResponse);
  return all;
}

test("a client that takes nothing of what is left is cut off", () => {
  const response = new EndedResponse(500);
  const all = flushing(response);
  all.tick(1_000);
  expect(response.isDestroyed).toBe(false);
  all.tick(1_001);
  expect(response.isDestroyed).toBe(true);
});

test("a client that takes some now and then has its time", () => {
  const response = new EndedResponse(500);
  const all = flushing(response);
  for (let ms = 900; ms < 4_000; ms += 900) {
    response.writableLength -= 10;
    all.tick(ms);
  }
  expect(response.isDestroyed).toBe(false);
});

test("what has left, or nothing is left of, is looked at no more", () => {
  const [closed, taken] = [new EndedResponse(500), new EndedResponse(0)];
  const all = flushing(closed, taken);
  closed.emit("close");
  all.tick(5_000);
  expect([closed.isDestroyed, taken.isDestroyed]).toEqual([false, false]);
});
