/** Each new sample leaves this share of the weight of all earlier ones. */
const keptWeight = 0.9;

/**
 * A line `y = base + slope · x` through samples, the latest of which weigh most. Least squares with exponential
 * forgetting: six numbers, whatever the number of samples.
 */
export class LineFit {
  #count = 0;
  #weight = 0;
  #x = 0;
  #y = 0;
  #xx = 0;
  #xy = 0;

  /** All that it is, as numbers. See {@link LineFit.restore}. */
  snapshot(): readonly number[] {
    return [this.#count, this.#weight, this.#x, this.#y, this.#xx, this.#xy];
  }

  /** Becomes a fit that another hub has. @param numbers - six from {@link LineFit.snapshot} */
  restore(numbers: readonly number[]): void {
    const [count = 0, weight = 0, x = 0, y = 0, xx = 0, xy = 0] = numbers;
    this.#count = count;
    this.#weight = weight;
    this.#x = x;
    this.#y = y;
    this.#xx = xx;
    this.#xy = xy;
  }

  /** samples taken */
  get count(): number {
    return this.#count;
  }

  /**
   * @param x - a whole number
   * @param y - finite; neither is negative
   */
  add(x: number, y: number): void {
    this.#count++;
    this.#weight = this.#weight * keptWeight + 1;
    this.#x = this.#x * keptWeight + x;
    this.#y = this.#y * keptWeight + y;
    this.#xx = this.#xx * keptWeight + x * x;
    this.#xy = this.#xy * keptWeight + x * y;
  }

  /** How much `y` grows with each unit of `x`; undefined while samples do not tell. */
  get slope(): number | undefined {
    const [at, further] = [this.at(0), this.at(1e6)];
    return at === undefined || further === undefined || further <= at
      ? undefined
      : (further - at) / 1e6;
  }

  /** Never negative, and never falling with `x`. @returns undefined before the first sample */
  at(x: number): number | undefined {
    if (this.#weight === 0) return undefined;
    const meanX = this.#x / this.#weight;
    const meanY = this.#y / this.#weight;
    const variance = this.#xx / this.#weight - meanX * meanX;
    // Samples of one size say nothing of how the size counts: the cost is taken to be in proportion to it.
    if (variance <= 1e-3 * meanX * meanX) return meanX < 1 ? meanY : (meanY * x) / meanX;
    const slope = (this.#xy / this.#weight - meanX * meanY) / variance;
    if (slope <= 0) return meanY;
    const base = meanY - slope * meanX;
    return base >= 0 ? base + slope * x : (this.#xy / this.#xx) * x;
  }
}
