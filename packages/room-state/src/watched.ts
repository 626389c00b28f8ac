/** A time in which the room's events were read. */
export interface WatchedTime {
  /** epoch ms on the watcher's clock */
  readonly fromMs: number;
  /** undefined: it has not ended */
  readonly toMs: number | undefined;
}

/** A connection that is lost every few seconds is no reason to keep more. */
const most = 100;

/** The lists were read: from now on nothing is missed. The same list when that was so before. */
export function watchedFrom(
  watched: readonly WatchedTime[],
  nowMs: number,
): readonly WatchedTime[] {
  if (isWatched({ watched })) return watched;
  return [...watched.slice(1 - most), { fromMs: nowMs, toMs: undefined }];
}

/** The connection is lost. */
export function watchedUntil(
  watched: readonly WatchedTime[],
  nowMs: number,
): readonly WatchedTime[] {
  const last = watched.at(-1);
  if (last === undefined || last.toMs !== undefined) return watched;
  return [...watched.slice(0, -1), { ...last, toMs: Math.max(last.fromMs, nowMs) }];
}

/** Whether the room is known as it is now. */
export function isWatched({ watched }: { watched: readonly WatchedTime[] }): boolean {
  const last = watched.at(-1);
  return last !== undefined && last.toMs === undefined;
}

/** How many ms from `startMs` to `endMs` were watched. */
export function watchedMs(watched: readonly WatchedTime[], startMs: number, endMs: number): number {
  let ms = 0;
  for (const { fromMs, toMs = endMs } of watched) {
    ms += Math.max(0, Math.min(toMs, endMs) - Math.max(fromMs, startMs));
  }
  return ms;
}
