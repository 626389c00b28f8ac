import { expect, test } from "vitest";
import { createPainter } from "./painter.ts";

interface Stage {
  painter: ReturnType<typeof createPainter>;
  /** times at which something was drawn, ms */
  drawn: number[];
  /** Moves the clock, with a frame every 10 ms. */
  pass: (ms: number) => void;
}

function stage(): Stage {
  let nowMs = 0;
  let frames: (() => void)[] = [];
  let timers: { atMs: number; callback: () => void }[] = [];
  const drawn: number[] = [];
  const painter = createPainter({
    draw: () => drawn.push(nowMs),
    requestFrame: (callback) => frames.push(callback),
    after: (ms, callback) => timers.push({ atMs: nowMs + ms, callback }),
    nowMs: () => nowMs,
    minimumMs: 50,
  });
  const pass = (ms: number) => {
    for (const endMs = nowMs + ms; nowMs < endMs;) {
      nowMs += 10;
      const due = timers.filter(({ atMs }) => atMs <= nowMs);
      timers = timers.filter(({ atMs }) => atMs > nowMs);
      for (const { callback } of due) callback();
      for (const callback of frames.splice(0)) callback();
    }
    frames = [];
  };
  return { painter, drawn, pass };
}

test("a thousand changes in one frame are drawn once", () => {
  const { painter, drawn, pass } = stage();
  for (let change = 0; change < 1_000; change++) painter.request();
  pass(200);
  expect(drawn).toEqual([10]);
});

test("changes without end are drawn no more often than the minimum", () => {
  const { painter, drawn, pass } = stage();
  for (let frame = 0; frame < 30; frame++) {
    painter.request();
    pass(10);
  }
  const gaps = drawn.slice(1).map((atMs, index) => atMs - drawn[index]!);
  expect(drawn.length).toBeGreaterThan(4);
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(50);
});

test("a change after a drawing is drawn too", () => {
  const { painter, drawn, pass } = stage();
  painter.request();
  pass(20);
  painter.request();
  pass(100);
  expect(drawn).toHaveLength(2);
});
