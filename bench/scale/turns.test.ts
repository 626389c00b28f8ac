import { expect, test } from "vitest";
import { fitCosts, turnsPerSecond } from "./turns.ts";

test("few arrivals have a turn each, many share as many turns as fit", () => {
  expect(turnsPerSecond(1, 2)).toBeCloseTo(1, 2);
  expect(turnsPerSecond(1e9, 2)).toBeCloseTo(500, 0);
});

const loads = [
  { puts: 0, copies: 60 },
  { puts: 0, copies: 300 },
  { puts: 0, copies: 1_200 },
  { puts: 150, copies: 300 },
  { puts: 600, copies: 1_200 },
  { puts: 100, copies: 700 },
];

function seenWith({
  put,
  copy,
  turn,
  delayMs,
}: Record<"put" | "copy" | "turn" | "delayMs", number>) {
  return loads.map(({ puts, copies }) => {
    const arrivals = 2 * puts + copies;
    const micros = puts * put + copies * copy + turn * turnsPerSecond(arrivals, delayMs);
    return { micros, units: [puts, copies], arrivals, queues: 1, processesPerCore: 1 };
  });
}

test("the costs of two kinds of work and of a turn are found from several loads", () => {
  const { units, turn } = fitCosts(seenWith({ put: 90, copy: 30, turn: 150, delayMs: 4 }));
  const [put = 0, copy = 0] = units;
  expect(put / 90).toBeCloseTo(1, 1);
  expect(copy / 30).toBeCloseTo(1, 1);
  expect(turn.micros / 150).toBeCloseTo(1, 1);
  expect(turn.delayMs / 4).toBeCloseTo(1, 1);
});

test("there is no turn to find where all work costs the same at every rate", () => {
  const { units, turn } = fitCosts(seenWith({ put: 90, copy: 30, turn: 0, delayMs: 4 }));
  expect(units.map((cost) => Math.round(cost))).toEqual([90, 30]);
  expect(turn.micros).toBeCloseTo(0, 6);
});

test("no cost is negative, whatever was seen", () => {
  const seen = seenWith({ put: -20, copy: 30, turn: 100, delayMs: 2 });
  const { units, turn } = fitCosts(seen);
  for (const cost of [...units, turn.micros]) expect(cost).toBeGreaterThanOrEqual(0);
});
