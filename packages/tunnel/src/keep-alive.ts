import type { Messages } from "./resume/messages.ts";

const MAX_MISSED = 2;

/**
 * Decides when to ping and when the other end is dead. Reads no clock.
 *
 * Counts at most one miss per call, so that a process that was frozen for a minute reads its sockets before it declares
 * the other end dead.
 */
export class KeepAlive {
  readonly #intervalMs: number;
  readonly #isPinged: boolean;
  #lastPingMs: number | undefined;
  #wasHeard = true;
  #missed = 0;

  /** @param isPinged - the other end pings as often, so it gets no pings as long as its own arrive */
  constructor(intervalMs: number, isPinged = false) {
    this.#intervalMs = intervalMs;
    this.#isPinged = isPinged;
  }

  /** Any message, ping or pong was received. */
  heard(): void {
    this.#wasHeard = true;
    this.#missed = 0;
  }

  /** Nothing was received between the two latest pings. */
  get isMissing(): boolean {
    return this.#missed > 0;
  }

  isDue(nowMs: number, intervalMs: number = this.#intervalMs): boolean {
    return this.#lastPingMs === undefined || nowMs - this.#lastPingMs >= intervalMs;
  }

  /** @param intervalMs - for this call */
  tick(nowMs: number, intervalMs: number = this.#intervalMs): "wait" | "ping" | "dead" {
    if (!this.isDue(nowMs, intervalMs)) return "wait";
    this.#lastPingMs = this.#pingTime(nowMs, intervalMs);
    const wasHeard = this.#wasHeard;
    this.#wasHeard = false;
    if (!wasHeard) this.#missed += 1;
    if (this.#missed >= MAX_MISSED) return "dead";
    return wasHeard && this.#isPinged && intervalMs === this.#intervalMs ? "wait" : "ping";
  }

  /** Aligned to the interval, so that late ticks do not add up; realigned after a pause. */
  #pingTime(nowMs: number, intervalMs: number): number {
    const last = this.#lastPingMs;
    const isOnTime = last !== undefined && nowMs - last < 2 * intervalMs;
    return isOnTime ? last + intervalMs : nowMs;
  }
}

/**
 * Whether the other end of an open tunnel sends, reads what is sent to it, and acknowledges it. Each is missing after two
 * pings without it; the last two count only while the other end sends. Reads no clock.
 */
export class EndWatch {
  readonly #sending: KeepAlive;
  readonly #reading: KeepAlive;
  readonly #acknowledging: KeepAlive;
  /** at the last ping */
  #hasRead = true;
  #hasAcknowledged = true;

  /** @param isAgent - the requester pings: one ping keeps the tunnel alive for both */
  constructor(pingIntervalMs: number, isAgent: boolean) {
    this.#sending = new KeepAlive(pingIntervalMs, isAgent);
    this.#reading = new KeepAlive(pingIntervalMs);
    this.#acknowledging = new KeepAlive(pingIntervalMs);
  }

  /** The session is resumed over another connection. */
  begin(): void {
    this.#sending.heard();
    this.#reading.heard();
    this.#acknowledging.heard();
  }

  /** Any message, ping or pong was received. */
  heard(): void {
    this.#sending.heard();
  }

  /**
   * A session whose other end acknowledges nothing cannot be resumed from now on.
   *
   * @param pingIntervalMs - for this call
   * @returns `silent`: the connection may be dead; `unread`: the other end sends, but takes nothing that is sent to it
   */
  tick(
    nowMs: number,
    messages: Messages,
    pingIntervalMs?: number,
  ): "wait" | "ping" | "silent" | "unread" {
    const verdict = this.#sending.tick(nowMs, pingIntervalMs);
    if (verdict === "dead") return "silent";
    // A connection that is cut takes nothing either, and does so for a while after the other end is back.
    if (this.#sending.isMissing) {
      this.#reading.heard();
      this.#acknowledging.heard();
    }
    // Hundreds of idle tunnels have a tick each second.
    if (!this.#reading.isDue(nowMs)) return verdict;
    const hasRead = messages.takeProgress();
    const hasAcknowledged = messages.log?.takeProgress() !== false;
    // What was complete at the last ping was so for a part of the time since.
    if (hasRead || this.#hasRead) this.#reading.heard();
    if (hasAcknowledged || this.#hasAcknowledged) this.#acknowledging.heard();
    this.#hasRead = hasRead;
    this.#hasAcknowledged = hasAcknowledged;
    if (this.#reading.tick(nowMs) === "dead") return "unread";
    if (this.#acknowledging.tick(nowMs) === "dead") messages.stopKeeping();
    return verdict;
  }
}

/** Two of these without a pong: a change of networks is noticed within 3 s. */
const SHORTEST_PING_MS = 1_000;
/** When another connection works as soon as this, the first one was only slow. */
const FALSE_ALARM_MS = 2_000;

/**
 * How often to ping while streams run that can be resumed. Giving up a connection costs little then; waiting for the usual
 * pings would cost a pause of half a minute. On a line so slow that pongs come late, each false alarm doubles the interval,
 * or the same message would be sent again and again. Reads no clock.
 */
export class LossWatch {
  readonly #longestMs: number;
  #pingIntervalMs: number;
  #nowMs = 0;
  #givenUpMs: number | undefined;

  /** @param longestMs - the usual interval */
  constructor(longestMs: number) {
    this.#longestMs = longestMs;
    this.#pingIntervalMs = Math.min(SHORTEST_PING_MS, longestMs);
  }

  get pingIntervalMs(): number {
    return this.#pingIntervalMs;
  }

  /** @param isGivenUp - this tick gave the connection up, because it was silent */
  tick(nowMs: number, isGivenUp: boolean): void {
    this.#nowMs = nowMs;
    if (isGivenUp) this.#givenUpMs = nowMs;
  }

  resumed(): void {
    if (this.#givenUpMs === undefined) return;
    const isFalseAlarm = this.#nowMs - this.#givenUpMs < FALSE_ALARM_MS;
    this.#givenUpMs = undefined;
    const intervalMs = isFalseAlarm ? 2 * this.#pingIntervalMs : SHORTEST_PING_MS;
    this.#pingIntervalMs = Math.min(intervalMs, this.#longestMs);
  }
}
