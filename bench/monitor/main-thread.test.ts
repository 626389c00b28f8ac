import { expect, test } from "vitest";
import { mainThreadOf, type TraceEvent } from "./main-thread.ts";

const page = { pid: 1, tid: 2 };
const name: TraceEvent = {
  ...page,
  name: "thread_name",
  ph: "M",
  ts: 0,
  args: { name: "CrRendererMain" },
};

/** Times in ms. */
function part(what: string, startMs: number, clockMs: number, cpuMs = clockMs): TraceEvent {
  return {
    ...page,
    name: what,
    ph: "X",
    ts: startMs * 1_000,
    dur: clockMs * 1_000,
    tdur: cpuMs * 1_000,
  };
}

function drawn(atMs: number): TraceEvent {
  return { ...page, name: "drawn", ph: "I", ts: atMs * 1_000 };
}

test("a frame is the script, style and layout of its task; forced layout inside script counts once", () => {
  const { frames, frameClock, tasks } = mainThreadOf([
    name,
    part("Layout", 3, 1),
    part("RunTask", 0, 20, 12),
    part("FireAnimationFrame", 1, 10, 5),
    drawn(11),
    part("UpdateLayoutTree", 12, 2, 1),
    part("Layout", 14, 2, 2),
  ]);
  expect(frames).toEqual([8]);
  expect(frameClock).toEqual([14]);
  expect(tasks).toEqual([12]);
});

test("a task that changes nothing is no frame, and counts as work", () => {
  const effects = [part("RunTask", 0, 4), part("FireAnimationFrame", 1, 1)];
  const trace = [name, ...effects, part("RunTask", 5, 3), drawn(9)];
  expect(mainThreadOf(trace)).toEqual({ frames: [], frameClock: [], tasks: [4, 3], busyMs: 7 });
});

test("of several pages the one that draws is read", () => {
  const idle = { pid: 9, tid: 9 };
  const trace = [
    { ...name, ...idle },
    { ...part("RunTask", 0, 99), ...idle },
    name,
    part("RunTask", 0, 2),
    part("FireAnimationFrame", 0, 1),
    drawn(1),
  ];
  expect(mainThreadOf(trace)).toMatchObject({ frames: [1], tasks: [2] });
});

test("a trace without a page is an error", () => {
  expect(() => mainThreadOf([])).toThrow("no main thread");
});
