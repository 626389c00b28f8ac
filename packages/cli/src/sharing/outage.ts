/** One outage as seen by several participants: it begins when the first is affected and ends when the last has recovered. */
export interface Outage {
  /** @returns whether this participant is the first affected */
  began: (id: string, nowMs: number) => boolean;
  /** @returns the outage's length in ms when the last participant has recovered; undefined otherwise */
  ended: (id: string, nowMs: number) => number | undefined;
}

export function trackOutage(): Outage {
  const affected = new Set<string>();
  let sinceMs = 0;
  return {
    began(id, nowMs) {
      const isFirst = affected.size === 0;
      if (isFirst) sinceMs = nowMs;
      affected.add(id);
      return isFirst;
    },
    ended(id, nowMs) {
      return affected.delete(id) && affected.size === 0 ? nowMs - sinceMs : undefined;
    },
  };
}
