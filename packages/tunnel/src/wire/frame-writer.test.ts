import { expect, test } from "vitest";
import { SimulatedWorld } from "../../../protocol/src/simulated-world.fixture.ts";
import { FrameWriter } from "./frame-writer.ts";
import type { MessageSink } from "./frame-writer.ts";

/** Keeps all that it was given, to be looked at later. */
class KeepingSink implements MessageSink {
  readonly sent: Buffer[] = [];
  readonly #isStuck: boolean;
  isClear = true;
  isFull = false;

  /** @param isStuck - nothing leaves, as from a socket whose peer does not read; otherwise everything at once */
  constructor(isStuck: boolean) {
    this.#isStuck = isStuck;
  }

  send(message: Buffer): void {
    this.sent.push(message);
    if (this.#isStuck) this.isClear = false;
  }
}

/** More than the largest slab holds. */
function fill(writer: FrameWriter, letter: string): void {
  for (let at = 0; at < 5; at++) writer.data(1, Buffer.alloc(16_000, letter));
  writer.flush();
}

const letters = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];

test("the slab is reused once its messages are sent", () => {
  const sink = new KeepingSink(false);
  const writer = new FrameWriter(sink, () => {}, new SimulatedWorld());
  for (const letter of letters) fill(writer, letter);
  const memory = new Set(sink.sent.slice(-8).map(({ buffer }) => buffer));
  expect(memory.size).toBe(1);
});

test("an unsent message is never overwritten", () => {
  const sink = new KeepingSink(true);
  const writer = new FrameWriter(sink, () => {}, new SimulatedWorld());
  for (const letter of letters) fill(writer, letter);
  const text = Buffer.concat(sink.sent)
    .toString("latin1")
    .replaceAll(/[^a-l]/g, "");
  expect(text).toBe(letters.map((letter) => letter.repeat(80_000)).join(""));
});
