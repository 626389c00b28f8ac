/** One outage as seen by several participants: it begins when the first is affected and ends when the last has recovered. */
export interface Outage<Key> {
  /** @returns whether this participant is the first affected */
  began: (participant: Key, nowMs: number) => boolean;
  /** @returns the outage's length in ms when the last participant has recovered; undefined otherwise */
  ended: (participant: Key, nowMs: number) => number | undefined;
}

/** @typeParam Key - what tells participants apart */
export function trackOutage<Key>(): Outage<Key> {
  const affected = new Set<Key>();
  let sinceMs = 0;
  return {
    began(participant, nowMs) {
      const isFirst = affected.size === 0;
      if (isFirst) sinceMs = nowMs;
      affected.add(participant);
      return isFirst;
    },
    ended(participant, nowMs) {
      return affected.delete(participant) && affected.size === 0 ? nowMs - sinceMs : undefined;
    },
  };
}
