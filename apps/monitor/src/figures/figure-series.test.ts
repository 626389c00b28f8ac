import { expect, test } from "vitest";
import { participantLines, requestLines, tokenLines, ttftLines } from "./figure-series.ts";

const quiet = {
  ...{ startMs: 10_000, tokensPerSecond: 0, requests: 0, errors: 0 },
  ...{ ttftP50Ms: undefined, ttftP95Ms: undefined },
};
const busy = {
  ...{ startMs: 20_000, tokensPerSecond: 12.5, requests: 3, errors: 1 },
  ...{ ttftP50Ms: 120, ttftP95Ms: 900 },
};

test("each plot has one value per line and time, and gaps where nothing was measured", () => {
  const points = [quiet, busy];
  const timesMs = [10_000, 20_000];
  expect(ttftLines(points)).toEqual({
    timesMs,
    lines: [
      [null, 0.12],
      [null, 0.9],
    ],
  });
  expect(tokenLines(points)).toEqual({ timesMs, lines: [[0, 12.5]] });
  expect(requestLines(points)).toEqual({
    timesMs,
    lines: [
      [0, 3],
      [0, 1],
    ],
  });
});

test("of a time that was not watched nothing is known", () => {
  const unknown = { requests: undefined, errors: undefined, tokensPerSecond: undefined };
  const points = [{ ...quiet, ...unknown }, busy];
  expect(ttftLines(points).lines).toEqual([
    [undefined, 0.12],
    [undefined, 0.9],
  ]);
  expect(tokenLines(points).lines).toEqual([[undefined, 12.5]]);
  expect(requestLines(points).lines).toEqual([
    [undefined, 3],
    [undefined, 1],
  ]);
});

test("a plot of participants has a line for each, and a gap where no response reported the cache", () => {
  const at = (startMs: number) => ({ startMs, requests: 0, errors: 0, warmShare: undefined });
  const ana = [at(10_000), { startMs: 20_000, requests: 3, errors: 1, warmShare: 0.5 }];
  const ben = [{ startMs: 10_000, requests: 2, errors: 0, warmShare: 0 }, at(20_000)];
  const linesOf = (figure: "requests" | "errors" | "warm") => {
    const { timesMs, lines } = participantLines([ana, ben], figure);
    expect(timesMs).toEqual([10_000, 20_000]);
    return lines;
  };
  expect(linesOf("requests")).toEqual([
    [0, 3],
    [2, 0],
  ]);
  expect(linesOf("errors")).toEqual([
    [0, 1],
    [0, 0],
  ]);
  expect(linesOf("warm")).toEqual([
    [null, 50],
    [0, null],
  ]);
});
