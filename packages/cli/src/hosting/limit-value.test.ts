import { LIMIT_NAMES, type LimitName, LIMITS } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { formatLimit, parseLimitFlag, parseLimitValue } from "./limit-value.ts";

test.each<[LimitName, string, number, string]>([
  ["inferenceBodyBytes", "64MiB", 67_108_864, "64MiB"],
  ["inferenceBodyBytes", "512 kib", 524_288, "512KiB"],
  ["inferenceBodyBytes", "1.5GiB", 1_610_612_736, "1536MiB"],
  ["inferenceBodyBytes", "10MB", 10_000_000, "10000000B"],
  ["inferenceBodyBytes", "1000", 1_000, "1000B"],
  ["queueWaitMs", "30s", 30_000, "30s"],
  ["queueWaitMs", "10min", 600_000, "10min"],
  ["queueWaitMs", "1.1s", 1_100, "1100ms"],
  ["queueWaitMs", "0", 0, "0ms"],
  ["roomExpiryMs", "30d", 2_592_000_000, "30d"],
  ["participantExpiryMs", "36h", 129_600_000, "36h"],
  ["rooms", "1000", 1_000, "1000"],
])("%s=%s is %i and is printed as %s", (name, text, value, printed) => {
  expect(parseLimitValue(name, text, "--limit")).toBe(value);
  expect(formatLimit(name, value)).toBe(printed);
});

test("what is printed can be given again", () => {
  for (const name of LIMIT_NAMES) {
    const { default: value } = LIMITS[name];
    expect(parseLimitValue(name, formatLimit(name, value), "--limit")).toBe(value);
  }
});

test.each<[string, string]>([
  [
    "queueWaitMs=10m",
    "--limit queueWaitMs must be a number of ms, or a number with a unit (s, min, h, d)",
  ],
  ["queueWaitMs=64MiB", "--limit queueWaitMs must be a number of ms"],
  ["queueWaitMs=", "--limit queueWaitMs must be a number of ms"],
  ["queueWaitMs=-1", "--limit queueWaitMs must be a number of ms"],
  ["queueWaitMs=0.5", "--limit queueWaitMs must be a whole number of ms of at least 0"],
  ["headerBytes=30s", "--limit headerBytes must be a number of bytes"],
  ["rooms=10KiB", '--limit rooms must be a whole number, not "10KiB"'],
  ["rooms=1e3", "--limit rooms must be a whole number"],
  ["rooms=99999999999999999999", "--limit rooms must be a whole number of at least 0"],
  ["bodyReadMs=30d", "--limit bodyReadMs must be a whole number of ms from 0 to 2073600000"],
  ["tunnelMessageBytes=2MiB", "from 131072 to 1048576"],
  ["queueWait=5", 'unknown limit "queueWait"; did you mean queueWaitMs?'],
  ["QUEUE_WAIT_MS=5", "did you mean queueWaitMs?"],
  ["toString=5", 'unknown limit "toString"'],
  ["frobnication=5", "list all: roomhub config --limits"],
  ["rooms", "--limit must look like name=value"],
  ["=5", "--limit must look like name=value"],
])("--limit %s is refused: %s", (text, problem) => {
  expect(() => parseLimitFlag(text)).toThrow(problem);
});
