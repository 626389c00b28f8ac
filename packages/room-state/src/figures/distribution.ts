/** Each bin is wider than the one below by this factor, so a percentile is exact to about 2 %. */
const binsPerDoubling = 16;

/** Counts of durations by bin: any number of samples in at most some 400 entries. */
export type Distribution = ReadonlyMap<number, number>;

/** @param ms - 0 or more; below 1 ms counts as 1 */
export function withSample(distribution: Distribution, ms: number): Distribution {
  const bin = binOf(ms);
  return new Map(distribution).set(bin, (distribution.get(bin) ?? 0) + 1);
}

/** The key of a sample in a {@link Distribution}. */
export function binOf(ms: number): number {
  return Math.round(Math.log2(Math.max(1, ms)) * binsPerDoubling);
}

/**
 * The duration that a share of the samples does not exceed.
 *
 * @param share - 0 to 1: 0.5 is the median
 * @returns ms, exact to 3 %; undefined without samples
 */
export function percentile(
  distributions: Iterable<Distribution>,
  share: number,
): number | undefined {
  const bins = new Map<number, number>();
  let samples = 0;
  for (const distribution of distributions) {
    for (const [bin, count] of distribution) {
      bins.set(bin, (bins.get(bin) ?? 0) + count);
      samples += count;
    }
  }
  const wanted = Math.max(1, Math.ceil(samples * share));
  let below = 0;
  for (const [bin, count] of [...bins].sort(([one], [other]) => one - other)) {
    below += count;
    if (below >= wanted) return 2 ** (bin / binsPerDoubling);
  }
  return undefined;
}
