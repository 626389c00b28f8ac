import { expect, test } from "vitest";
import { addedMs, clean, costRatio, costUs } from "./cost.ts";
import type { LoadResult } from "../load/load.ts";

const spread = { count: 1, p50: 1, p99: 1, max: 1 };

function seen(changes: Partial<LoadResult>): LoadResult {
  return {
    ...{ seconds: 1, responses: 100, tokens: 0, problems: [], problemCount: 0 },
    ...{ cpuMs: { target: 10 }, firstByteMs: spread, gapMs: spread, wholeMs: spread },
    ...changes,
  };
}

const costing = (ms: number) => seen({ cpuMs: { target: ms } });

test("a cost is time of the target's process by what it did", () => {
  expect(costUs(seen({ cpuMs: { target: 10, load: 99 } }), "responses")).toBe(100);
});

test("only what was measured in the same round is compared", () => {
  const disturbed = [costing(20), costing(200), costing(22)];
  const others = [costing(10), costing(100), costing(11)];
  expect(costRatio(disturbed, others, "responses")).toBe(2);
});

test("what is added is the difference within a round", () => {
  const at = (p50: number) => seen({ wholeMs: { ...spread, p50 } });
  const added = addedMs(
    [at(3), at(13), at(4)],
    [at(1), at(11), at(1)],
    ({ wholeMs }) => wholeMs.p50,
  );
  expect(added).toBe(2);
});

test("a target with a bad response, or with none, has no figures", () => {
  expect(() => clean("nginx", seen({ problemCount: 1, problems: ["status 502"] }))).toThrow("502");
  expect(() => clean("nginx", seen({ responses: 0 }))).toThrow("no response");
});
