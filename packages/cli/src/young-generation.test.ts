import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const module = fileURLToPath(new URL("young-generation.ts", import.meta.url));

/**
 * What a busy hub does to V8: much is made, and some of it stays a while.
 *
 * @param begin - what was called before
 * @returns bytes of the young generation
 */
function youngBytesAfterABusyMoment(begin: string, given: readonly string[] = []): number {
  const program = `
    import { getHeapSpaceStatistics } from "node:v8";
    import { keepYoungGenerationMinimal, letYoungGenerationGrow } from ${JSON.stringify(module)};
    ${begin}
    const kept = [];
    for (let turn = 0; turn < 600; turn++) {
      for (let at = 0; at < 5_000; at++) kept[at + (turn % 24) * 5_000] = { turn, at, text: "request " + at };
      await new Promise((resolve) => setImmediate(resolve));
    }
    console.log(getHeapSpaceStatistics().find((space) => space.space_name === "new_space").space_size);
  `;
  const args = [...given, "--input-type=module", "--eval", program];
  return Number(spawnSync(process.execPath, args, { encoding: "utf8" }).stdout);
}

const loading = "keepYoungGenerationMinimal();";
const working = `${loading} letYoungGenerationGrow();`;
const mebibyte = 1_024 * 1_024;

test("V8's young generation hardly grows while the program is loaded", () => {
  expect(youngBytesAfterABusyMoment(loading)).toBeLessThan(8 * mebibyte);
});

test("then it grows, to 32 MiB at most", () => {
  const bytes = youngBytesAfterABusyMoment(working);
  expect(bytes).toBeGreaterThan(8 * mebibyte);
  expect(bytes).toBeLessThanOrEqual(32 * mebibyte);
});

test("a later participant in the same process lets it grow no further", () => {
  const both = `${working} setTimeout(letYoungGenerationGrow, 100);`;
  expect(youngBytesAfterABusyMoment(both)).toBeLessThanOrEqual(32 * mebibyte);
});

test("whoever starts Node with a size of their own gets it", () => {
  const size = (megabytes: number) =>
    youngBytesAfterABusyMoment(working, [`--max-semi-space-size=${megabytes}`]);
  expect(size(4)).toBeLessThanOrEqual(8 * mebibyte);
  expect(size(64)).toBeGreaterThan(32 * mebibyte);
});
