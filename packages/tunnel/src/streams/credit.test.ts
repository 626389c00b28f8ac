import { array, assert, boolean, integer, property, record } from "fast-check";
import { expect, test } from "vitest";
import { ReceiveWindow, SendCredit } from "./credit.ts";
import { ProtocolError } from "../wire/close-code.ts";

test("credit is returned once half the window is read", () => {
  const window = new ReceiveWindow(100);
  window.receive(80);
  expect(window.settle(49, true)).toBe(0);
  expect(window.settle(1, true)).toBe(50);
  expect(window.settle(30, true)).toBe(0);
});

test("bytes held for a paused reader are returned by release, all at once", () => {
  const window = new ReceiveWindow(100);
  window.receive(100);
  expect(window.settle(60, false)).toBe(0);
  expect(window.settle(40, true)).toBe(0);
  expect(() => window.receive(1)).toThrow(ProtocolError);
  expect(window.release()).toBe(100);
  expect(window.release()).toBe(0);
  expect(() => window.receive(100)).not.toThrow();
});

test("credit of 0 or beyond the window is a violation", () => {
  const credit = new SendCredit(100);
  expect(() => credit.grant(0)).toThrow(ProtocolError);
  expect(() => credit.grant(1)).toThrow(ProtocolError);
  credit.spend(10);
  credit.grant(10);
  expect(credit.availableBytes).toBe(100);
});

test("whatever the reader does, a correct sender stays within its credit and never stalls", () => {
  const step = record({ bytes: integer({ min: 1, max: 90 }), isAccepted: boolean() });
  assert(
    property(integer({ min: 1, max: 64 }), array(step), (windowBytes, steps) => {
      const credit = new SendCredit(windowBytes);
      const window = new ReceiveWindow(windowBytes);
      for (const { bytes, isAccepted } of steps) {
        const sent = Math.min(bytes, credit.availableBytes);
        credit.spend(sent);
        window.receive(sent);
        for (const grant of [window.settle(sent, isAccepted), window.release()]) {
          if (grant > 0) credit.grant(grant);
        }
        expect(credit.availableBytes).toBeGreaterThan(0);
      }
    }),
    { seed: 1, numRuns: 500 },
  );
});
