/** Uniform in `[0, 1)`, the same sequence for the same seed: mulberry32. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Gaps of a Poisson process. */
export function exponential(random: () => number, mean: number): number {
  return -mean * Math.log(1 - random());
}

/** Small values are as likely as large ones by their order of magnitude. */
export function logUniform(random: () => number, least: number, most: number): number {
  return least * (most / least) ** random();
}

/** A new array in random order. */
export function shuffled<T>(random: () => number, items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, place: random() }))
    .sort((one, other) => one.place - other.place)
    .map(({ item }) => item);
}
