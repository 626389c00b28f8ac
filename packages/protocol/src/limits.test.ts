import { expect, test } from "vitest";
import {
  LIMIT_NAMES as names,
  limitEnvName,
  limitProblem,
  LIMITS,
  resolveLimits,
} from "./limits.ts";

test.each([
  ["inferenceBodyBytes", "ROOMHUB_INFERENCE_BODY_BYTES"],
  ["rooms", "ROOMHUB_ROOMS"],
  ["earlyCommitMs", "ROOMHUB_EARLY_COMMIT_MS"],
  ["inFlightPerHub", "ROOMHUB_IN_FLIGHT_PER_HUB"],
] as const)("the limit %s is overridden by %s", (name, envName) => {
  expect(limitEnvName(name)).toBe(envName);
});

test("every limit has its own variable, a default and a description", () => {
  expect(new Set(names.map(limitEnvName)).size).toBe(names.length);
  for (const name of names) {
    expect(limitEnvName(name)).toMatch(/^ROOMHUB_[A-Z]+(?:_[A-Z]+)*$/);
    expect(Number.isSafeInteger(LIMITS[name].default) && LIMITS[name].default > 0).toBe(true);
    expect(LIMITS[name].what).not.toBe("");
  }
});

test.each([
  ["bodyIdleMs", "ms"],
  ["heldBodyBytes", "bytes"],
  ["rooms", "count"],
] as const)("the name of the limit %s says that its unit is %s", (name, unit) => {
  expect(LIMITS[name].unit).toBe(unit);
});

test.each([
  ["offlineAfterMs", 30_000],
  ["inferenceBodyBytes", 67_108_864],
  ["heldBodyBytes", 536_870_912],
  ["managementBodyBytes", 65_536],
  ["headerBytes", 16_384],
  ["headerPairs", 200],
  ["headersReadMs", 10_000],
  ["bodyIdleMs", 30_000],
  ["bodyReadMs", 600_000],
  ["keepAliveMs", 65_000],
  ["rooms", 1_000],
  ["roomCreationBurst", 20],
  ["roomCreationPerMinute", 10],
  ["participantsPerRoom", 1_024],
  ["participantsPerHub", 4_096],
  ["passwordAttemptsBurst", 5],
  ["passwordAttemptIntervalMs", 2_000],
  ["passwordAttemptsPerRoom", 60],
  ["subscribersPerRoom", 10_000],
  ["subscriberBufferBytes", 1_048_576],
  ["inFlightPerHub", 16_384],
  ["inFlightPerParticipant", 256],
  ["assumedConcurrency", 4],
  ["queuePerRoom", 256],
  ["queueWaitMs", 60_000],
  ["tunnelMessageBytes", 1_048_576],
  ["tunnelOpenings", 5],
  ["tunnelOpeningsMs", 10_000],
  ["tunnelPingMs", 10_000],
  ["firstByteMs", 600_000],
  ["streamIdleMs", 300_000],
  ["requestMs", 1_800_000],
  ["responseBodyBytes", 67_108_864],
  ["eventHoldBytes", 16_384],
  ["earlyCommitMs", 45_000],
  ["drainMs", 30_000],
  ["nicknameLength", 64],
  ["modelLength", 256],
  ["roomNameLength", 128],
  ["endpointLength", 2_048],
  ["passwordBytes", 128],
  ["authHeaders", 16],
  ["authHeaderBytes", 8_192],
  ["participantFieldBytes", 16_384],
  ["participantExpiryMs", 86_400_000],
  ["roomExpiryMs", 2_592_000_000],
] as const)("%s is %i by default", (name, value) => {
  expect(LIMITS[name].default).toBe(value);
});

test("a limit that is not overridden keeps its default, and 0 is a valid override", () => {
  const limits = resolveLimits({ earlyCommitMs: 0, rooms: 7, queueWaitMs: undefined });
  expect(limits).toMatchObject({ earlyCommitMs: 0, rooms: 7, queueWaitMs: 60_000 });
  expect(Object.keys(limits)).toEqual(names);
});

test.each([
  ["rooms", -1, "must be a whole number of at least 0"],
  ["rooms", 1.5, "must be a whole number of at least 0"],
  ["rooms", NaN, "must be a whole number of at least 0"],
  ["roomCreationPerMinute", 0, "must be a whole number of at least 1"],
  ["urlBytes", Infinity, "must be a whole number of bytes of at least 0"],
  ["bodyReadMs", 2_073_600_001, "must be a whole number of ms from 0 to 2073600000"],
  ["tunnelMessageBytes", 1_048_577, "must be a whole number of bytes from 131072 to 1048576"],
] as const)("%s cannot be %d", (name, value, problem) => {
  expect(limitProblem(name, value)).toBe(problem);
  expect(() => resolveLimits({ [name]: value })).toThrow(
    new RangeError(`The limit ${name} ${problem}, not ${value}`),
  );
});

test("every default and both ends of every range are valid", () => {
  for (const name of names) {
    const { default: value, min = 0, max = Number.MAX_SAFE_INTEGER } = LIMITS[name];
    expect([min, value, max].map((one) => limitProblem(name, one))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  }
});
