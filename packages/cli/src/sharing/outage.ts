/** What several participants say of one thing they share, told once: when the first lost it, and when the last has it back. */
export interface Outage {
  /** @returns whether that is news */
  began: (id: string, nowMs: number) => boolean;
  /** @returns ms since it began, once the last one is back; undefined while somebody is still without, or nobody ever was */
  ended: (id: string, nowMs: number) => number | undefined;
}

export function trackOutage(): Outage {
  const without = new Set<string>();
  let sinceMs = 0;
  return {
    began(id, nowMs) {
      const isNews = without.size === 0;
      if (isNews) sinceMs = nowMs;
      without.add(id);
      return isNews;
    },
    ended(id, nowMs) {
      return without.delete(id) && without.size === 0 ? nowMs - sinceMs : undefined;
    },
  };
}
