const windowMs = 60_000;
const minRequests = 100;
const minShare = 0.8;
const betweenMovesMs = 10 * 60_000;

interface Window {
  sinceMs: number;
  total: number;
  /** by hub id */
  entered: Map<string, number>;
  /** the minute before, if there were requests in it */
  before: Window | undefined;
}

/**
 * Where the requests of the rooms with a home here enter: a room moves to the hub at which over 80 % of at least 100
 * requests within a minute entered, at most once in 10 minutes. Reads no clock. A room without requests takes no memory.
 */
export class EnteredRequests {
  readonly #ownHubId: string;
  /** by room code */
  readonly #windows = new Map<string, Window>();
  readonly #movedMs = new Map<string, number>();

  constructor(ownHubId: string) {
    this.#ownHubId = ownHubId;
  }

  /** @param hubId - where the client sent it */
  count(code: string, hubId: string, nowMs: number): void {
    let window = this.#windows.get(code);
    if (window === undefined || nowMs - window.sinceMs >= windowMs) {
      const before =
        window !== undefined && nowMs - window.sinceMs < 2 * windowMs ? window : undefined;
      window = {
        sinceMs: nowMs,
        total: 0,
        entered: new Map(),
        before: before && { ...before, before: undefined },
      };
      this.#windows.set(code, window);
    }
    window.total += 1;
    window.entered.set(hubId, (window.entered.get(hubId) ?? 0) + 1);
  }

  /** Rooms with so many requests within the last minute that they may move. */
  *busy(): Iterable<string> {
    for (const [code, { total }] of this.#windows) if (total >= minRequests) yield code;
  }

  /** The hub that the room is to move to. */
  target(code: string, nowMs: number): string | undefined {
    const window = this.#windows.get(code);
    if (window === undefined || nowMs - window.sinceMs >= windowMs) return undefined;
    if (window.total < minRequests) return undefined;
    if (nowMs - (this.#movedMs.get(code) ?? Number.NEGATIVE_INFINITY) < betweenMovesMs)
      return undefined;
    for (const hubId of window.entered.keys()) {
      if (hubId !== this.#ownHubId && hasMost(window, hubId)) return hubId;
    }
    return undefined;
  }

  /** The room has just moved, to this hub or away. */
  moved(code: string, nowMs: number): void {
    this.#windows.delete(code);
    this.#movedMs.set(code, nowMs);
  }

  /** Drops what is over. */
  tidy(nowMs: number): void {
    for (const [code, { sinceMs }] of this.#windows) {
      if (nowMs - sinceMs >= windowMs) this.#windows.delete(code);
    }
    for (const [code, movedMs] of this.#movedMs) {
      if (nowMs - movedMs >= betweenMovesMs) this.#movedMs.delete(code);
    }
  }
}

/** Together with the minute before: what a minute begins with may be a burst. */
function hasMost({ total, entered, before }: Window, hubId: string): boolean {
  const count = (entered.get(hubId) ?? 0) + (before?.entered.get(hubId) ?? 0);
  return count > minShare * (total + (before?.total ?? 0));
}
