/**
 * Decides when to ping and when a peer is dead. Reads no clock.
 *
 * Counts at most one miss per call, so that a process that was frozen for a minute reads its sockets before it declares
 * a peer dead.
 */
export class KeepAlive {
  readonly #intervalMs: number;
  #lastPingMs: number | undefined;
  #wasHeard = true;
  #missed = 0;

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  /** Any message, ping or pong was received. */
  heard(): void {
    this.#wasHeard = true;
    this.#missed = 0;
  }

  /** Nothing was heard between the two latest pings. */
  get isMissing(): boolean {
    return this.#missed > 0;
  }

  /** @param intervalMs - of this moment */
  tick(nowMs: number, intervalMs: number = this.#intervalMs): "wait" | "ping" | "dead" {
    if (this.#lastPingMs !== undefined && nowMs - this.#lastPingMs < intervalMs) {
      return "wait";
    }
    this.#lastPingMs = this.#pingTime(nowMs, intervalMs);
    if (!this.#wasHeard) this.#missed += 1;
    this.#wasHeard = false;
    return this.#missed >= MAX_MISSED ? "dead" : "ping";
  }

  /** Aligned to the interval, so that late ticks do not add up; realigned after a pause. */
  #pingTime(nowMs: number, intervalMs: number): number {
    const last = this.#lastPingMs;
    const isOnTime = last !== undefined && nowMs - last < 2 * intervalMs;
    return isOnTime ? last + intervalMs : nowMs;
  }
}

const MAX_MISSED = 2;
