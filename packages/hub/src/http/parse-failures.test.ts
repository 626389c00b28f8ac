import type { ServerResponse } from "node:http";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { SocketResponses } from "./parse-failures.ts";

interface FakeResponse {
  headersSent: boolean;
  writableFinished: boolean;
}

function sending(count: number) {
  const socket = new PassThrough();
  const responses = new SocketResponses();
  const made = Array.from({ length: count }, (): FakeResponse => ({
    headersSent: false,
    writableFinished: false,
  }));
  for (const response of made) responses.note(socket, response as ServerResponse);
  return { made, isMid: () => responses.isMidResponse(socket) };
}

test("a socket is in the middle of a response from its head to its end", () => {
  const { made, isMid } = sending(1);
  const [only] = made;
  expect(isMid()).toBe(false);
  Object.assign(only ?? {}, { headersSent: true });
  expect(isMid()).toBe(true);
  Object.assign(only ?? {}, { writableFinished: true });
  expect(isMid()).toBe(false);
});

test("of pipelined responses each counts, also once those before it are finished", () => {
  const { made, isMid } = sending(2);
  const [first, second] = made;
  Object.assign(first ?? {}, { headersSent: true });
  expect(isMid()).toBe(true);
  Object.assign(first ?? {}, { writableFinished: true });
  Object.assign(second ?? {}, { headersSent: true });
  expect(isMid()).toBe(true);
});

test("a socket without a response is in the middle of nothing", () => {
  expect(new SocketResponses().isMidResponse(new PassThrough())).toBe(false);
});
