import { exponential } from "../room/random.ts";

/** Arrivals at random, each with the same service time. */
export interface Arrivals {
  perSecond: number;
  micros: number;
}

export interface QueueSeen {
  /** of the time that it was busy */
  share: number;
  /** µs that arrivals waited before their service, sorted */
  waits: number[];
}

/** More tell no more of a p99. */
const mostArrivals = 200_000;

/** One server, first come first served: what arrives of all kinds, and how long it waits. */
export function simulateQueue(kinds: readonly Arrivals[], random: () => number): QueueSeen {
  const live = kinds.filter(({ perSecond }) => perSecond > 0);
  const total = live.reduce((sum, { perSecond }) => sum + perSecond, 0);
  if (total === 0) return { share: 0, waits: [0] };
  const pick = picker(live, total);
  const meanGapMicros = 1e6 / total;
  const waits: number[] = [];
  let nowMicros = 0;
  let freeMicros = 0;
  let busyMicros = 0;
  for (let at = 0; at < mostArrivals; at++) {
    nowMicros += exponential(random, meanGapMicros);
    const { micros } = pick(random());
    const startMicros = Math.max(nowMicros, freeMicros);
    waits.push(startMicros - nowMicros);
    freeMicros = startMicros + micros;
    busyMicros += micros;
  }
  // Without its end, an overloaded server would look as if it were just full.
  return { share: busyMicros / nowMicros, waits: waits.sort((one, other) => one - other) };
}

/** @param share - in `[0, 1]` */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
}

function picker(kinds: readonly Arrivals[], total: number): (uniform: number) => Arrivals {
  let sum = 0;
  const borders = kinds.map((kind) => ({ kind, upTo: (sum += kind.perSecond) / total }));
  const [first] = borders;
  return (uniform) => {
    const found = borders.find(({ upTo }) => uniform < upTo) ?? borders.at(-1) ?? first;
    if (found === undefined) throw new Error("a queue without arrivals");
    return found.kind;
  };
}
