import { expect, test } from "vitest";
import { ProgressText } from "./progress-text.ts";
import type { BatchProgress } from "./run/run-batch.ts";

const noon = new Date(2026, 0, 2, 12, 0, 0).getTime();

function progress(over: Partial<BatchProgress> = {}): BatchProgress {
  return {
    ...{ total: 10_000, completed: 0, failed: 0, running: 8, finishedInRun: 0, outputTokens: 0 },
    ...{ byParticipant: new Map(), waitsFor: undefined },
    ...over,
  };
}

test("a line has results, errors, rates and shares of this run, and the end at this rate", () => {
  const text = new ProgressText();
  expect(text.line(progress(), 0, noon)).toBe("0/10,000 (0 %), 8 running");
  const later = progress({
    ...{ completed: 1_197, failed: 3, finishedInRun: 1_200, outputTokens: 24_000 },
    byParticipant: new Map([
      ["bob", 400],
      ["ana", 800],
    ]),
  });
  expect(text.line(later, 60_000, noon)).toBe(
    "1,200/10,000 (12 %), 3 errors, 8 running, 400 tokens/s, ana 67 % bob 33 %, done at 12:07:20",
  );
});

test("rates are those of the last five minutes", () => {
  const text = new ProgressText();
  for (let second = 0; second <= 3_600; second += 5) {
    // A slow hour, and twice as fast at its end.
    const tokens = second * 10 + Math.max(0, second - 3_200) * 10;
    text.line(progress({ outputTokens: tokens }), second * 1_000, noon);
  }
  const outputTokens = 36_000 + 4_000;
  expect(text.line(progress({ outputTokens }), 3_600_000, noon)).toContain("20 tokens/s");
});

test("why nothing runs comes first, and four participants are named", () => {
  const byParticipant = new Map(["a", "b", "c", "d", "e", "f"].map((id) => [id, 1]));
  const waiting = progress({ running: 0, waitsFor: "no\u001b[2J hub", byParticipant });
  expect(new ProgressText().line(waiting, 0, noon)).toBe(
    "0/10,000 (0 %), waiting: no\ufffd[2J hub, 0 running, a 17 % b 17 % c 17 % d 17 % and 2 more",
  );
});
