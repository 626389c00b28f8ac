import { expect, test } from "vitest";
import { createRowFeed, type Row } from "./row-feed.ts";
import { capture, makeWorld, passing, type After } from "../test-context.fixture.ts";

/** A feed whose time passes only when the test advances it. */
function feeding(columns?: number) {
  const timers = new Map<() => void, number>();
  const writes: string[] = [];
  const terminal = capture(columns);
  terminal.write = (text) => {
    writes.push(text);
  };
  const after: After = (ms, callback) => {
    timers.set(callback, ms);
    return () => timers.delete(callback);
  };
  const { context } = makeWorld({ world: passing({ after }) });
  const feed = createRowFeed(context, terminal);
  let rendered = 0;
  return {
    ...{ feed, writes, timers },
    rendered: () => rendered,
    /** All that waited so long is done. */
    pass: (ms: number) => {
      for (const [callback, dueMs] of [...timers]) {
        if (dueMs !== ms || !timers.delete(callback)) continue;
        callback();
      }
    },
    rows: (from: number, to: number, over: Partial<Row> = {}) => {
      for (let number = from; number <= to; number++) {
        const render = () => {
          rendered++;
          return `row ${number}`;
        };
        feed.row({ render, isFailed: false, ...over });
      }
    },
  };
}

function numbered(from: number, to: number): string {
  return Array.from({ length: to - from + 1 }, (_, index) => `row ${from + index}\n`).join("");
}

test("rows of one turn leave in one write", () => {
  const { rows, pass, writes } = feeding();
  rows(1, 3);
  expect(writes).toEqual([]);
  pass(0);
  rows(4, 4);
  pass(0);
  expect(writes).toEqual([numbered(1, 3), numbered(4, 4)]);
});

test("twenty rows of a second are shown; the second ends with one that counts the rest", () => {
  const { rows, pass, writes, rendered } = feeding();
  rows(1, 429);
  rows(430, 432, { isFailed: true });
  pass(0);
  expect(writes).toEqual([numbered(1, 20)]);
  pass(1_000);
  pass(0);
  expect(writes.slice(1)).toEqual(["… 412 more, 3 failed\n"]);
  expect(rendered()).toBe(20);
});

test("the next second has its own twenty, and none is counted where all were shown", () => {
  const { rows, pass, writes } = feeding();
  rows(1, 20);
  pass(0);
  pass(1_000);
  rows(21, 41);
  pass(0);
  pass(1_000);
  pass(0);
  expect(writes).toEqual([numbered(1, 20), numbered(21, 40), "… 1 more, 0 failed\n"]);
});

test("a second begins with its first row: nothing is timed while nothing comes", () => {
  const { feed, rows, pass, timers } = feeding();
  feed.line("connected");
  expect(timers.size).toBe(0);
  rows(1, 1);
  pass(0);
  pass(1_000);
  expect(timers.size).toBe(0);
});

test("a line is never left out, and stands behind the rows before it", () => {
  const { feed, rows, pass, writes } = feeding();
  rows(1, 30);
  feed.line("disconnected");
  pass(0);
  expect(writes).toEqual([`${numbered(1, 20)}disconnected\n`]);
});

test("closing shows what waits and counts what was left out, and nothing comes after it", () => {
  const { feed, rows, writes, timers } = feeding();
  rows(1, 22);
  feed.close();
  expect(writes).toEqual([`${numbered(1, 20)}… 2 more, 0 failed\n`]);
  expect(timers.size).toBe(0);
  feed.close();
  expect(writes).toHaveLength(1);
});

test("on a terminal the count is dimmed", () => {
  const { feed, rows, writes } = feeding(80);
  rows(1, 21);
  feed.close();
  expect(writes.join("")).toContain("\u001b[2m… 1 more, 0 failed\u001b[22m\n");
});
