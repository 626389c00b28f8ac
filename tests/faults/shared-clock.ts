/** Milliseconds on the machine's monotonic clock: the same in every process, so times of different ones compare. */
export function sharedNowMs(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}
