import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const module = fileURLToPath(new URL("heap-growth.ts", import.meta.url));
const mebibyte = 1_024 * 1_024;

/** @returns what the program said, with `begin` before it */
function numberSaidBy(begin: string, program: string, given: readonly string[] = []): number {
  const text = `
    import { PerformanceObserver } from "node:perf_hooks";
    import { getHeapSpaceStatistics } from "node:v8";
    import { allowHeapGrowth, limitHeapWhileLoading } from ${JSON.stringify(module)};
    const youngBytes = () =>
      getHeapSpaceStatistics().find((space) => space.space_name === "new_space").space_size;
    let settled = 0;
    const nextTurn = () => new Promise((resolve) => setImmediate(resolve));
    ${begin}
    ${program}
  `;
  const args = [...given, "--input-type=module", "--eval", text];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  expect(stderr).toBe("");
  return Number(stdout);
}

const loading = "limitHeapWhileLoading();";
const working = `${loading} allowHeapGrowth();`;

describe("the young generation", () => {
  /**
   * What a busy hub does to V8: much is made, and some of it stays a while. Told is the smallest size of the last turns,
   * since in the middle of a collection there is more for a moment.
   */
  const busyMoment = `{
    const kept = [];
    let least = Infinity;
    for (let turn = 0; turn < 600; turn++) {
      for (let at = 0; at < 5_000; at++) kept[at + (turn % 24) * 5_000] = { turn, at, text: "request " + at };
      await nextTurn();
      if (turn >= 500) least = Math.min(least, youngBytes());
    }
    settled = least;
  }`;
  const tell = "console.log(settled);";

  test("hardly grows while the program is loaded", () => {
    expect(numberSaidBy(loading, busyMoment + tell)).toBeLessThan(8 * mebibyte);
  });

  test("then grows, to 32 MiB at most", () => {
    const bytes = numberSaidBy(working, busyMoment + tell);
    expect(bytes).toBeGreaterThan(8 * mebibyte);
    expect(bytes).toBeLessThanOrEqual(32 * mebibyte);
  });

  test("is let grow no further by a later participant in the same process", () => {
    const both = `${working} setTimeout(allowHeapGrowth, 100);`;
    expect(numberSaidBy(both, busyMoment + tell)).toBeLessThanOrEqual(32 * mebibyte);
  });

  test("grows again after V8 took its room back from an idle process", () => {
    const idle = `${busyMoment} gc({ type: "major", flavor: "last-resort" }); await nextTurn();`;
    const after = (rest: string) => numberSaidBy(working, idle + rest, ["--expose-gc"]);
    expect(after("console.log(youngBytes());")).toBeLessThan(8 * mebibyte);
    expect(after(busyMoment + tell)).toBeGreaterThan(8 * mebibyte);
  });

  test("has the size that whoever starts Node gives it", () => {
    const size = (megabytes: number) =>
      numberSaidBy(working, busyMoment + tell, [`--max-semi-space-size=${megabytes}`]);
    expect(size(4)).toBeLessThanOrEqual(8 * mebibyte);
    expect(size(64)).toBeGreaterThan(32 * mebibyte);
  });
});

describe("full collections", () => {
  /** Things that outlive their youth and then are let go, as streams of some seconds do. */
  const passingThings = `
    let full = 0;
    new PerformanceObserver((list) => {
      full += list.getEntries().filter(({ detail }) => detail.kind === 4).length;
    }).observe({ entryTypes: ["gc"] });
    const kept = [];
    for (let turn = 0; turn < 3_000; turn++) {
      kept[turn % 30] = Array.from({ length: 1_000 }, (_, at) => ({ turn, at, half: at / 2 }));
      await nextTurn();
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
    console.log(full);
  `;

  test("are few while the heap is small", () => {
    // How soon V8 begins one by its own rule depends on how fast it was before; told to begin soon, it does.
    const soon = ["--heap-growing-percent=1"];
    const usual = numberSaidBy("", passingThings, soon);
    expect(numberSaidBy(working, passingThings, soon)).toBeLessThan(usual);
  });
});
