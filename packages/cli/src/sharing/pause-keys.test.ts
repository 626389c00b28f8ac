import type { RunningRequest } from "@roomhub/participant";
import { expect, test } from "vitest";
import type { RunningParticipant } from "../capabilities.ts";
import { clockTime } from "../terminal/text.ts";
import { type After, makeWorld, passing } from "../test-context.fixture.ts";
import { pauseByKeys } from "./run-participants.ts";

const hourMs = 3_600_000;

/** Two participants whose clock and timers the test moves. */
function twoParticipants() {
  let nowMs = 0;
  const timers = new Map<() => void, number>();
  const log: string[] = [];
  const requests: Record<string, RunningRequest[]> = { ana: [], bea: [] };
  const participants = Object.entries(requests).map(([id, running]) => ({
    running: () => running,
    pause: () => log.push(`pause ${id}`),
    resume: () => log.push(`resume ${id}`),
  }));
  const after: After = (ms, callback) => {
    timers.set(callback, nowMs + ms);
    return () => timers.delete(callback);
  };
  const { context } = makeWorld({ world: passing({ nowMs: () => nowMs, after }) });
  const lines: string[] = [];
  const feed = { line: (text: string) => void lines.push(text.slice("12:03:04  ".length)) };
  const { onKey, close } = pauseByKeys(
    context,
    feed,
    participants as unknown as RunningParticipant[],
  );
  return {
    ...{ log, lines, requests, onKey, close },
    /** @param isAsleep - timers do not run meanwhile, and are late by that time */
    pass: (ms: number, isAsleep = false) => {
      const endMs = nowMs + ms;
      for (;;) {
        const [next] = [...timers].toSorted(([, one], [, other]) => one - other);
        if (isAsleep || next === undefined || next[1] > endMs) break;
        nowMs = next[1];
        timers.delete(next[0]);
        next[0]();
      }
      nowMs = endMs;
      if (isAsleep) for (const [callback, atMs] of timers) timers.set(callback, atMs + ms);
    },
    timers: () => timers.size,
  };
}

const request: RunningRequest = {
  ...{ path: "/chat/completions", model: "llama", client: undefined },
  ...{ runsMs: 0, outputTokens: undefined },
};

test("p pauses all of them and says how many requests still run, the next p resumes", () => {
  const { onKey, log, lines, requests } = twoParticipants();
  onKey("p");
  onKey("p");
  requests["ana"]?.push(request);
  onKey("p");
  onKey("p");
  requests["bea"]?.push(request);
  onKey("p");
  expect(log.slice(0, 4)).toEqual(["pause ana", "pause bea", "resume ana", "resume bea"]);
  expect(lines).toEqual([
    "paused: no new requests; p resumes",
    "resumed",
    "paused: no new requests, 1 still runs; p resumes",
    "resumed",
    "paused: no new requests, 2 still run; p resumes",
  ]);
});

test("P pauses for an hour", () => {
  const { onKey, log, lines, pass, timers } = twoParticipants();
  onKey("P");
  pass(hourMs - 1);
  expect(log).toEqual(["pause ana", "pause bea"]);
  pass(1);
  expect(log.slice(2)).toEqual(["resume ana", "resume bea"]);
  expect(lines).toEqual([
    `paused until ${clockTime(hourMs)}: no new requests; p resumes`,
    "resumed",
  ]);
  expect(timers()).toBe(0);
});

test("an hour's pause ends soon after a machine wakes up that slept through its end", () => {
  const { onKey, log, pass } = twoParticipants();
  onKey("P");
  pass(2 * hourMs, true);
  pass(15_000);
  expect(log).toContain("resume ana");
});

test.each(["p", "P"])("an hour's pause ends early with %s, and its end resumes nothing", (key) => {
  const { onKey, log, pass } = twoParticipants();
  onKey("P");
  onKey(key);
  onKey("p");
  pass(2 * hourMs);
  expect(log.at(-1)).toBe("pause bea");
});

test("nothing is left to wait for when it is closed, and other keys do nothing", () => {
  const { onKey, log, close, timers } = twoParticipants();
  onKey("x");
  expect(log).toEqual([]);
  onKey("P");
  close();
  expect(timers()).toBe(0);
});
