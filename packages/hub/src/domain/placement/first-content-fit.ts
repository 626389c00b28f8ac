/** Each new sample leaves this share of the weight of all earlier ones. */
const keptWeight = 0.9;
/** For a shorter prompt nearly all of the time is the fixed part, which says nothing about the rate. */
const leastShownBytes = 512;
/** For a prompt so many times as long as all measured prompts, the estimate is a guess. */
const reach = 4;

/** Weighted sums over samples: weight, x, y, xx and xy. */
type Sums = readonly [weight: number, x: number, y: number, xx: number, xy: number];

const noSums: Sums = [0, 0, 0, 0, 0];

/**
 * The time to the first content as two figures: a fixed part, and prompt bytes ÷ rate. Least squares with exponential
 * forgetting, separately for short and long prompts, so that many of one kind do not displace the other.
 */
export class FirstContentFit {
  #count = 0;
  #longest = 0;
  #short = noSums;
  #long = noSums;

  /** The state as numbers. See {@link FirstContentFit.restore}. */
  snapshot(): readonly number[] {
    return [this.#count, this.#longest, ...this.#short, ...this.#long];
  }

  /** Becomes a fit that another hub has. @param numbers - from {@link FirstContentFit.snapshot} */
  restore(numbers: readonly number[]): void {
    const [count = 0, longest = 0, ...sums] = numbers;
    this.#count = count;
    this.#longest = longest;
    this.#short = sumsOf(sums.slice(0, noSums.length));
    this.#long = sumsOf(sums.slice(noSums.length));
  }

  /** samples taken */
  get count(): number {
    return this.#count;
  }

  /**
   * @param bytes - a whole number
   * @param ms - finite; neither is negative
   */
  add(bytes: number, ms: number): void {
    this.#count++;
    this.#longest = Math.max(this.#longest, bytes);
    if (bytes < leastShownBytes) this.#short = withSample(this.#short, bytes, ms);
    else this.#long = withSample(this.#long, bytes, ms);
  }

  /** Whether a prompt is far longer than all that were measured. */
  isBeyond(bytes: number): boolean {
    return this.#count > 0 && bytes >= Math.max(leastShownBytes, reach * this.#longest);
  }

  /** ms per byte; undefined while samples do not show it. */
  get slope(): number | undefined {
    const [at, further] = [this.at(0), this.at(1e6)];
    return at === undefined || further === undefined || further <= at
      ? undefined
      : (further - at) / 1e6;
  }

  /** Never negative, and never falling with the length. @returns undefined where no sample shows it */
  at(bytes: number): number | undefined {
    const short = this.#short;
    if (this.#long[0] > 0) return lineAt(bytes, short, this.#long);
    return short[0] > 0 && bytes < leastShownBytes ? short[2] / short[0] : undefined;
  }
}

function sumsOf([weight = 0, x = 0, y = 0, xx = 0, xy = 0]: readonly number[]): Sums {
  return [weight, x, y, xx, xy];
}

function withSample([weight, x, y, xx, xy]: Sums, bytes: number, ms: number): Sums {
  return [
    weight * keptWeight + 1,
    x * keptWeight + bytes,
    y * keptWeight + ms,
    xx * keptWeight + bytes * bytes,
    xy * keptWeight + bytes * ms,
  ];
}

/** @param long - of at least one sample */
function lineAt(bytes: number, short: Sums, long: Sums): number {
  const weight = short[0] + long[0];
  const meanX = (short[1] + long[1]) / weight;
  const meanY = (short[2] + long[2]) / weight;
  const [xx, xy] = [short[3] + long[3], short[4] + long[4]];
  const variance = xx / weight - meanX * meanX;
  // Samples of one size do not show a rate: the cost is taken as proportional to the size.
  if (variance <= 1e-3 * meanX * meanX) return (meanY * bytes) / meanX;
  const slope = (xy / weight - meanX * meanY) / variance;
  if (slope <= 0) return meanY;
  const base = meanY - slope * meanX;
  return base >= 0 ? base + slope * bytes : (xy / xx) * bytes;
}
