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
    import { growHeapForWork, holdHeapWhileLoading } from ${JSON.stringify(module)};
    const youngBytes = () =>
      getHeapSpaceStatistics().find((space) => space.space_name === "new_space").space_size;
    const nextTurn = () => new Promise((resolve) => setImmediate(resolve));
    ${begin}
    ${program}
  `;
  const args = [...given, "--input-type=module", "--eval", text];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  expect(stderr).toBe("");
  return Number(stdout);
}

const loading = "holdHeapWhileLoading();";
const working = `${loading} growHeapForWork();`;

describe("the young generation", () => {
  /** What a busy hub does to V8: much is made, and some of it stays a while. */
  const busyMoment = `
    const kept = [];
    for (let turn = 0; turn < 600; turn++) {
      for (let at = 0; at < 5_000; at++) kept[at + (turn % 24) * 5_000] = { turn, at, text: "request " + at };
      await nextTurn();
    }
    console.log(youngBytes());
  `;

  test("hardly grows while the program is loaded", () => {
    expect(numberSaidBy(loading, busyMoment)).toBeLessThan(8 * mebibyte);
  });

  test("then grows, to 32 MiB at most", () => {
    const bytes = numberSaidBy(working, busyMoment);
    expect(bytes).toBeGreaterThan(8 * mebibyte);
    expect(bytes).toBeLessThanOrEqual(32 * mebibyte);
  });

  test("is let grow no further by a later participant in the same process", () => {
    const both = `${working} setTimeout(growHeapForWork, 100);`;
    expect(numberSaidBy(both, busyMoment)).toBeLessThanOrEqual(32 * mebibyte);
  });

  test("has the size that whoever starts Node gives it", () => {
    const size = (megabytes: number) =>
      numberSaidBy(working, busyMoment, [`--max-semi-space-size=${megabytes}`]);
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

  test("are fewer in a small heap than V8 would have them", () => {
    expect(numberSaidBy(working, passingThings)).toBeLessThan(numberSaidBy("", passingThings));
  });
});
