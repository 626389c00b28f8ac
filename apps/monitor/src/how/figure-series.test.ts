import { expect, test } from "vitest";
import { requestLines, tokenLines, ttftLines } from "./figure-series.ts";

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
  const times = [10, 20];
  expect(ttftLines(points)).toEqual({
    times,
    lines: [
      [null, 0.12],
      [null, 0.9],
    ],
  });
  expect(tokenLines(points)).toEqual({ times, lines: [[0, 12.5]] });
  expect(requestLines(points)).toEqual({
    times,
    lines: [
      [0, 3],
      [0, 1],
    ],
  });
});
