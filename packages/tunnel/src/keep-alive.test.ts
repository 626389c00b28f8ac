import { expect, test } from "vitest";
import { KeepAlive } from "./keep-alive.ts";

test("a responsive peer is pinged once per interval and stays alive", () => {
  const keepAlive = new KeepAlive(10_000);
  const verdicts: string[] = [];
  for (let nowMs = 0; nowMs <= 60_000; nowMs += 5_000) {
    verdicts.push(keepAlive.tick(nowMs));
    keepAlive.heard();
  }
  expect(verdicts.filter((verdict) => verdict === "ping")).toHaveLength(7);
  expect(verdicts).not.toContain("dead");
});

test("a silent peer is dead after two missed pings, 20 s after the first", () => {
  const keepAlive = new KeepAlive(10_000);
  expect([0, 10_000, 19_999, 20_000].map((nowMs) => keepAlive.tick(nowMs))).toEqual([
    "ping",
    "ping",
    "wait",
    "dead",
  ]);
});

test("any message between two misses resets the count", () => {
  const keepAlive = new KeepAlive(10_000);
  keepAlive.tick(0);
  keepAlive.tick(10_000);
  keepAlive.heard();
  expect(keepAlive.tick(20_000)).toBe("ping");
  expect(keepAlive.tick(30_000)).toBe("ping");
  expect(keepAlive.tick(40_000)).toBe("dead");
});

test("a process that was frozen for an hour counts one miss, not 360", () => {
  const keepAlive = new KeepAlive(10_000);
  keepAlive.tick(0);
  expect(keepAlive.tick(3_600_000)).toBe("ping");
});
