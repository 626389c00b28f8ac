import type { LogLine } from "@roomhub/room-state";
import { expect, test } from "vitest";
import { filterLog, lineText } from "./filter-log.ts";

const log: LogLine[] = [
  { sequence: 1, atMs: 0, level: "info", text: "ada joined with llama3", requestId: undefined },
  { sequence: 2, atMs: 1, level: "warning", text: "ada is offline", requestId: undefined },
  {
    sequence: 3,
    atMs: 2,
    level: "error",
    text: "Alice: llama3, failed (provider)",
    requestId: "c",
  },
];

test.each([
  ["", "info", [1, 2, 3]],
  ["ADA", "info", [1, 2]],
  ["llama3 alice", "info", [3]],
  ["", "warning", [2, 3]],
  ["ada", "error", []],
] as const)("the filter %j from %s shows the lines %j", (text, level, expected) => {
  expect(filterLog(log, { text, level }).map(({ sequence }) => sequence)).toEqual(expected);
});

test("a log that is not filtered is the same list", () => {
  expect(filterLog(log, { text: " ", level: "info" })).toBe(log);
});

test("a line has its time of day, its level and its text", () => {
  const atMs = new Date(2026, 0, 2, 3, 4, 5, 67).getTime();
  const line = lineText({ sequence: 1, atMs, level: "error", text: "x", requestId: "a" });
  expect(line).toBe("03:04:05.067 error x");
});
