/** Counts of samples up to each boundary, and their sum. */
export class Histogram {
  /** ascending; a sample that equals one is within it */
  readonly boundaries: readonly number[];
  readonly #counts: number[];
  #sum = 0;

  constructor(boundaries: readonly number[]) {
    this.boundaries = boundaries;
    this.#counts = Array.from({ length: boundaries.length + 1 }, () => 0);
  }

  record(sample: number): void {
    const index = this.boundaries.findIndex((boundary) => sample <= boundary);
    const bucket = index === -1 ? this.boundaries.length : index;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#sum += sample;
  }

  get sum(): number {
    return this.#sum;
  }

  /** Of samples up to each boundary that are above the one before, and then of samples above the last. */
  get counts(): readonly number[] {
    return this.#counts;
  }
}
