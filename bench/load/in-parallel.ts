/** Runs `work` on all of them, a few at once. */
export async function inParallel<T>(
  all: readonly T[],
  atOnce: number,
  work: (one: T) => Promise<unknown>,
): Promise<void> {
  const left = [...all].reverse();
  async function workOff(): Promise<void> {
    for (let one = left.pop(); one !== undefined; one = left.pop()) await work(one);
  }
  await Promise.all(Array.from({ length: atOnce }, workOff));
}
