const minuteMs = 60_000;
/** How long a caller that gave the right password stays known. */
const knownMs = 24 * 3_600_000;
/** Callers remembered per room. Only those that have the password take a place. */
const maxKnown = 1_024;

/** On its way to another hub, whose clock is another: in ms from then. */
export interface RoomGuessesMemory {
  wrongAgoMs: number[];
  rightAgoMs: [caller: string, agoMs: number][];
}

/** The wrong passwords of one room from all callers together, and the callers that gave the right one. Contract §6. */
export class RoomGuesses {
  readonly #perMinute: number;
  /** when the last wrong ones came, at most as many as are allowed, oldest first */
  readonly #wrongAtMs: number[] = [];
  /** by caller, the longest ago first */
  readonly #rightAtMs = new Map<string, number>();

  /** @param perMinute - wrong passwords in any 60 s */
  constructor(perMinute: number) {
    this.#perMinute = perMinute;
  }

  /** 0 while guesses of unknown callers are checked. */
  retryAfterMs(nowMs: number): number {
    if (this.#perMinute === 0) return minuteMs;
    const oldest = this.#wrongAtMs[0];
    if (oldest === undefined || this.#wrongAtMs.length < this.#perMinute) return 0;
    return Math.max(0, oldest + minuteMs - nowMs);
  }

  recordWrong(nowMs: number): void {
    this.#wrongAtMs.push(nowMs);
    if (this.#wrongAtMs.length > this.#perMinute) this.#wrongAtMs.shift();
  }

  recordRight(caller: string, nowMs: number): void {
    // Deleted first, so that the map stays ordered.
    this.#rightAtMs.delete(caller);
    const [oldest] = this.#rightAtMs.keys();
    if (oldest !== undefined && this.#rightAtMs.size >= maxKnown) this.#rightAtMs.delete(oldest);
    this.#rightAtMs.set(caller, nowMs);
  }

  memory(nowMs: number): RoomGuessesMemory {
    return {
      wrongAgoMs: this.#wrongAtMs.map((atMs) => nowMs - atMs),
      rightAgoMs: [...this.#rightAtMs].map(([caller, atMs]) => [caller, nowMs - atMs]),
    };
  }

  /** What another hub knew. */
  remember({ wrongAgoMs, rightAgoMs }: RoomGuessesMemory, nowMs: number): void {
    for (const agoMs of wrongAgoMs) this.recordWrong(nowMs - agoMs);
    for (const [caller, agoMs] of rightAgoMs) this.recordRight(caller, nowMs - agoMs);
  }

  /** Whether it gave the right password within 24 h. */
  isKnown(caller: string, nowMs: number): boolean {
    const rightAtMs = this.#rightAtMs.get(caller);
    return rightAtMs !== undefined && nowMs - rightAtMs <= knownMs;
  }
}
