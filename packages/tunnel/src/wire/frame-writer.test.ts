import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { FRAME_TYPES } from "./frame.ts";
import { decodeFrames } from "./frame-decoder.ts";
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
  const writer = new FrameWriter(sink, () => {});
  for (const letter of letters) fill(writer, letter);
  const memory = new Set(sink.sent.slice(-8).map(({ buffer }) => buffer));
  expect(memory.size).toBe(1);
});

test("an unsent message is never overwritten", () => {
  const sink = new KeepingSink(true);
  const writer = new FrameWriter(sink, () => {});
  for (const letter of letters) fill(writer, letter);
  const text = Buffer.concat(sink.sent)
    .toString("latin1")
    .replaceAll(/[^a-l]/g, "");
  expect(text).toBe(letters.map((letter) => letter.repeat(80_000)).join(""));
});

describe("a writer with a pause", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "performance"] });
    vi.setSystemTime(1_000);
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  function createWriter() {
    const sink = new KeepingSink(false);
    const writer = new FrameWriter(sink, () => {}, 4);
    const sent = () =>
      sink.sent.splice(0).map((message) => {
        const types: number[] = [];
        decodeFrames(message, { onFrame: (type) => void types.push(type) }, true);
        return types;
      });
    return { writer, sent };
  }

  const { data, end, admitted, response } = FRAME_TYPES;
  const chunk = Buffer.from("x");

  test("sends DATA at the end of its turn, and what follows within the pause together after it", () => {
    const { writer, sent } = createWriter();
    writer.data(1, chunk);
    vi.advanceTimersByTime(0);
    expect(sent()).toEqual([[data]]);
    writer.data(2, chunk);
    vi.advanceTimersByTime(3);
    writer.data(3, chunk);
    expect(sent()).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(sent()).toEqual([[data, data]]);
    vi.advanceTimersByTime(4);
    writer.data(1, chunk);
    vi.advanceTimersByTime(0);
    expect(sent()).toEqual([[data]]);
  });

  test("sends what is no DATA at the end of its turn, and what waits with it", () => {
    const { writer, sent } = createWriter();
    writer.end(1);
    vi.advanceTimersByTime(0);
    writer.data(2, chunk);
    vi.advanceTimersByTime(1);
    writer.end(3);
    vi.advanceTimersByTime(0);
    expect(sent()).toEqual([[end], [data, end]]);
    vi.advanceTimersByTime(10);
    expect(sent()).toEqual([]);
  });

  test("lets ADMITTED wait for the response, for as long as the pause", () => {
    const { writer, sent } = createWriter();
    writer.text(admitted, "{}", 1);
    vi.advanceTimersByTime(3);
    expect(sent()).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(sent()).toEqual([[admitted]]);
    vi.advanceTimersByTime(10);
    writer.text(admitted, "{}", 2);
    writer.text(response, "{}{}", 2);
    writer.flush();
    expect(sent()).toEqual([[admitted, response]]);
  });
});
