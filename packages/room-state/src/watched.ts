/** A period in which the room's events were read. */
export interface WatchedTime {
  /** epoch ms on the watcher's clock */
  readonly fromMs: number;
  /** undefined while it lasts */
  readonly toMs: number | undefined;
}

/** Bounds the list when a connection is lost every few seconds. */
const most = 100;

/** Begins a period, once the lists were read; unchanged during a period. */
export function watchedFrom(
  watched: readonly WatchedTime[],
  nowMs: number,
): readonly WatchedTime[] {
  if (isWatched({ watched })) return watched;
  return [...watched.slice(1 - most), { fromMs: nowMs, toMs: undefined }];
}

/** Ends the period: the connection is lost. */
export function watchedUntil(
  watched: readonly WatchedTime[],
  nowMs: number,
): readonly WatchedTime[] {
  const last = watched.at(-1);
  if (last === undefined || last.toMs !== undefined) return watched;
  return [...watched.slice(0, -1), { ...last, toMs: Math.max(last.fromMs, nowMs) }];
}

/** Whether the state is current. */
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
