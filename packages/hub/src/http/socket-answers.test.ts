import type { ServerResponse } from "node:http";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { SocketAnswers } from "./socket-answers.ts";

interface Answer {
  headersSent: boolean;
  writableFinished: boolean;
}

function answering(count: number) {
  const socket = new PassThrough();
  const answers = new SocketAnswers();
  const made = Array.from({ length: count }, (): Answer => ({
    headersSent: false,
    writableFinished: false,
  }));
  for (const answer of made) answers.note(socket, answer as ServerResponse);
  return { made, isMid: () => answers.isMidAnswer(socket) };
}

test("a socket is in the middle of an answer from its head to its end", () => {
  const { made, isMid } = answering(1);
  const [only] = made;
  expect(isMid()).toBe(false);
  Object.assign(only ?? {}, { headersSent: true });
  expect(isMid()).toBe(true);
  Object.assign(only ?? {}, { writableFinished: true });
  expect(isMid()).toBe(false);
});

test("of pipelined answers each counts, also once those before it are finished", () => {
  const { made, isMid } = answering(2);
  const [first, second] = made;
  Object.assign(first ?? {}, { headersSent: true });
  expect(isMid()).toBe(true);
  Object.assign(first ?? {}, { writableFinished: true });
  Object.assign(second ?? {}, { headersSent: true });
  expect(isMid()).toBe(true);
});

test("a socket without a response is in the middle of nothing", () => {
  expect(new SocketAnswers().isMidAnswer(new PassThrough())).toBe(false);
});
