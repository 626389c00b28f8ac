import { PassThrough } from "node:stream";
import type { ReadStream } from "node:tty";
import { expect, test } from "vitest";
import { isForegroundStat, readKeys } from "./keyboard.ts";

/** A terminal that writes down what is done to it. */
function aTerminal(isTTY = true, inForeground = [true, true]) {
  const log: string[] = [];
  const input = Object.assign(new PassThrough(), {
    isTTY,
    setRawMode: (isRaw: boolean) => log.push(isRaw ? "raw" : "cooked"),
  });
  const resumed = Promise.withResolvers<void>();
  const release = readKeys(
    input as unknown as ReadStream,
    {
      interrupt: () => log.push("interrupt"),
      suspend: () => {
        log.push("suspend");
        return resumed.promise;
      },
      isInForeground: () => inForeground.shift() ?? false,
    },
    (key) => log.push(`key ${key}`),
  );
  const type = async (text: string) => {
    input.write(text);
    await new Promise(setImmediate);
  };
  return { input, log, release, type, resume: resumed.resolve };
}

test("keys come one by one, and Ctrl+C still interrupts", async () => {
  const { log, type } = aTerminal();
  await type("pq");
  await type("\u0003");
  expect(log).toEqual(["raw", "key p", "key q", "interrupt"]);
});

test("released, the terminal is as it was, and keys go unread", async () => {
  const { log, type, release, input } = aTerminal();
  release();
  await type("p");
  expect(log).toEqual(["raw", "cooked"]);
  expect(input.isPaused()).toBe(true);
});

test("a suspended program gives the terminal back until it runs again", async () => {
  const { log, type, resume } = aTerminal();
  await type("\u001a");
  expect(log).toEqual(["raw", "cooked", "suspend"]);
  resume();
  await new Promise(setImmediate);
  expect(log.at(-1)).toBe("raw");
});

test("a program that ended while it was suspended leaves the terminal alone", async () => {
  const { log, type, release, resume } = aTerminal();
  await type("\u001a");
  release();
  resume();
  await new Promise(setImmediate);
  expect(log).toEqual(["raw", "cooked", "suspend"]);
});

test("a program that goes on in the background leaves the terminal alone", async () => {
  const { log, type, resume, input, release } = aTerminal(true, [true, false]);
  await type("\u001a");
  resume();
  await new Promise(setImmediate);
  release();
  expect(log).toEqual(["raw", "cooked", "suspend"]);
  expect(input.isPaused()).toBe(true);
});

test("in the background no key is read", async () => {
  const { log, release } = aTerminal(true, [false]);
  release();
  expect(log).toEqual([]);
});

test("a pipe is not read at all", async () => {
  const { log, type, release } = aTerminal(false);
  await type("p");
  release();
  expect(log).toEqual([]);
});

test.each([
  ["its terminal's own group", "12 (node) S 1 12 9 34816 12 4194304 1", true],
  ["another group than its terminal's", "12 (node) S 1 12 9 34816 9 4194304 1", false],
  ["no terminal at all", "12 (node) S 1 12 9 0 -1 4194304 1", false],
  ["a name with parentheses", "12 (a) b) S 1 12 9 34816 12 4194304 1", true],
])("a process with %s", (_name, stat, isForeground) => {
  expect(isForegroundStat(stat)).toBe(isForeground);
});
