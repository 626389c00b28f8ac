import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const module = fileURLToPath(new URL("heap-growth.ts", import.meta.url));
const mebibyte = 1_024 * 1_024;

/** @returns the number that `program` prints, run after `begin` */
function numberPrintedBy(
  begin: string,
  program: string,
  { args: given = [], env = {} }: { args?: readonly string[]; env?: Record<string, string> } = {},
): number {
  const text = `
    import { PerformanceObserver } from "node:perf_hooks";
    import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
    import { allowHeapGrowth, limitHeapWhileLoading } from ${JSON.stringify(module)};
    const youngBytes = () =>
      getHeapSpaceStatistics().find((space) => space.space_name === "new_space").space_size;
    let settled = 0;
    const nextTurn = () => new Promise((resolve) => setImmediate(resolve));
    ${begin}
    ${program}
  `;
  const args = [...given, "--input-type=module", "--eval", text];
  const { stdout, stderr } = spawnSync(process.execPath, args, {
    encoding: "utf8",
    env: { ...process.env, ...env },
  });
  expect(stderr).toBe("");
  return Number(stdout);
}

const loading = "limitHeapWhileLoading();";
const working = `${loading} allowHeapGrowth();`;

describe("the young generation", () => {
  /**
   * Allocates like a busy hub: many objects, some of which live for a while. Reports the smallest size of the last turns,
   * since it is larger for a moment during a collection.
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
  const print = "console.log(settled);";

  test("hardly grows while the program is loaded", () => {
    expect(numberPrintedBy(loading, busyMoment + print)).toBeLessThan(8 * mebibyte);
  });

  test("then grows, to 32 MiB at most", () => {
    const bytes = numberPrintedBy(working, busyMoment + print);
    expect(bytes).toBeGreaterThan(8 * mebibyte);
    expect(bytes).toBeLessThanOrEqual(32 * mebibyte);
  });

  test("grows no further when a second participant starts in the same process", () => {
    const both = `${working} setTimeout(allowHeapGrowth, 100);`;
    expect(numberPrintedBy(both, busyMoment + print)).toBeLessThanOrEqual(32 * mebibyte);
  });

  test("grows again after V8 has shrunk it in an idle process", () => {
    const idle = `${busyMoment} gc({ type: "major", flavor: "last-resort" }); await nextTurn();`;
    const after = (rest: string) =>
      numberPrintedBy(working, idle + rest, { args: ["--expose-gc"] });
    expect(after("console.log(youngBytes());")).toBeLessThan(8 * mebibyte);
    expect(after(busyMoment + print)).toBeGreaterThan(8 * mebibyte);
  });

  test("is left to V8 with ROOMHUB_HEAP_GROWTH=off, while loading and after", () => {
    const env = { ROOMHUB_HEAP_GROWTH: "off" };
    expect(numberPrintedBy(loading, busyMoment + print, { env })).toBeGreaterThan(8 * mebibyte);
    const fixed = `setFlagsFromString("--semi-space-growth-factor=1"); allowHeapGrowth();`;
    expect(numberPrintedBy(fixed, busyMoment + print, { env })).toBeLessThan(8 * mebibyte);
    expect(numberPrintedBy(fixed, busyMoment + print)).toBeGreaterThan(8 * mebibyte);
  });

  test("has the size given with --max-semi-space-size", () => {
    const size = (megabytes: number) =>
      numberPrintedBy(working, busyMoment + print, {
        args: [`--max-semi-space-size=${megabytes}`],
      });
    expect(size(4)).toBeLessThanOrEqual(8 * mebibyte);
    expect(size(64)).toBeGreaterThan(32 * mebibyte);
  });
});

describe("full collections", () => {
  /** Objects that survive the young generation and are then released, as streams of some seconds are. */
  const shortLivedObjects = `
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
    // V8's own rule depends on how fast earlier collections were; the flag makes them start soon.
    const soon = { args: ["--heap-growing-percent=1"] };
    const usual = numberPrintedBy("", shortLivedObjects, soon);
    expect(numberPrintedBy(working, shortLivedObjects, soon)).toBeLessThan(usual);
  });
});
