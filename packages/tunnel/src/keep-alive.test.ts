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

test("a peer that pings as often is pinged only while it is silent, and dead as soon", () => {
  const keepAlive = new KeepAlive(10_000, true);
  const verdictAt = (nowMs: number) => keepAlive.tick(nowMs);
  expect(verdictAt(0)).toBe("wait");
  keepAlive.heard();
  expect(verdictAt(10_000)).toBe("wait");
  expect([20_000, 25_000, 30_000].map(verdictAt)).toEqual(["ping", "wait", "dead"]);
  const quick = new KeepAlive(10_000, true);
  expect([0, 1_000, 2_000].map((nowMs) => quick.tick(nowMs, 1_000))).toEqual([
    ...["ping", "ping", "dead"],
  ]);
});

test("a process that was frozen for an hour counts one miss, not 360", () => {
  const keepAlive = new KeepAlive(10_000);
  keepAlive.tick(0);
  expect(keepAlive.tick(3_600_000)).toBe("ping");
});
