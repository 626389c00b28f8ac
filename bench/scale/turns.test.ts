import { expect, test } from "vitest";
import { fitTurn, turnShareMicros, turnsPerSecond } from "./turns.ts";

test("few arrivals have a turn each, many share as many turns as fit", () => {
  expect(turnsPerSecond(1, 2)).toBeCloseTo(1, 2);
  expect(turnsPerSecond(1e9, 2)).toBeCloseTo(500, 0);
  expect(turnShareMicros({ micros: 100, delayMs: 2 }, 500)).toBe(50);
  expect(turnShareMicros({ micros: 100, delayMs: 2 }, 0)).toBe(0);
});

test("the turn is found from what arrivals cost at several rates", () => {
  const turn = { micros: 150, delayMs: 4 };
  const seen = [60, 300, 1_500].map((perSecond) => ({
    perSecond,
    micros: 40 + turnShareMicros(turn, perSecond),
  }));
  const found = fitTurn(seen);
  expect(found.micros / turn.micros).toBeCloseTo(1, 0);
  expect(found.delayMs / turn.delayMs).toBeCloseTo(1, 0);
});

test("there is no turn to find where every arrival costs the same", () => {
  const seen = [60, 300, 1_500].map((perSecond) => ({ perSecond, micros: 40 }));
  expect(fitTurn(seen).micros).toBeCloseTo(0, 6);
});
