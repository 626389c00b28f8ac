import { percentile } from "../../tests/faults/figure.ts";
import { type Served, sweepMs } from "./simulation.ts";

export interface RoomFigures {
  /** from the first request to the end of the last response */
  makespanMs: number;
  /** from a request's arrival to its first token */
  firstP50Ms: number;
  firstP95Ms: number;
  /** of all prompt bytes, those that were in a cache: 0–1 */
  warmShare: number;
  /** of all requests, those that waited for one machine longer than computing the prompt elsewhere costs: 0–1 */
  overheldShare: number;
  /** the longest that a request waited for one machine though another was free */
  longestHeldMs: number;
}

export function figuresOf(served: readonly Served[]): RoomFigures {
  const firstMs = served.map((one) => one.firstMs - one.arrivedMs).sort((a, b) => a - b);
  const prompts = sum(served.map(({ promptBytes }) => promptBytes));
  return {
    makespanMs:
      Math.max(...served.map(({ endMs }) => endMs)) -
      Math.min(...served.map(({ arrivedMs }) => arrivedMs)),
    firstP50Ms: percentile(firstMs, 0.5),
    firstP95Ms: percentile(firstMs, 0.95),
    warmShare: sum(served.map(({ warmBytes }) => warmBytes)) / prompts,
    overheldShare: served.filter(isOverheld).length / served.length,
    longestHeldMs: Math.max(...served.map(({ heldMs }) => heldMs)),
  };
}

/** The hub ends a wait at the sweep after its time is over. */
function isOverheld({ heldMs, recomputeMs }: Served): boolean {
  return heldMs > recomputeMs + sweepMs;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
