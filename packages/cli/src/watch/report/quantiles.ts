import { binOf, percentile } from "@roomhub/room-state";

export interface Percentiles {
  p50: number;
  p95: number;
  p99: number;
}

/** Percentiles of any number of samples, exact to 3 %, in some 400 counts. */
export class Quantiles {
  readonly #bins = new Map<number, number>();
  /** Bins begin at 1, so smaller samples are multiplied. */
  readonly #scale: number;

  /** @param smallest - sample that is distinguished from 0 */
  constructor(smallest: number) {
    this.#scale = 1 / smallest;
  }

  /** @param sample - 0 or more; anything else is left out */
  record(sample: number): void {
    if (!(sample >= 0 && sample < Number.POSITIVE_INFINITY)) return;
    const bin = binOf(sample * this.#scale);
    this.#bins.set(bin, (this.#bins.get(bin) ?? 0) + 1);
  }

  /** @returns null without samples */
  percentiles(): Percentiles | null {
    const [p50, p95, p99] = [0.5, 0.95, 0.99].map((share) => percentile([this.#bins], share));
    if (p50 === undefined || p95 === undefined || p99 === undefined) return null;
    return { p50: this.#unscaled(p50), p95: this.#unscaled(p95), p99: this.#unscaled(p99) };
  }

  /** Three digits are more than a bin is exact to. */
  #unscaled(value: number): number {
    return Number((value / this.#scale).toPrecision(3));
  }
}
