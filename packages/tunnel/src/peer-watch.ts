import { KeepAlive } from "./keep-alive.ts";
import type { Continuity } from "./resume/continuity.ts";

/**
 * What is expected of the peer of an open tunnel: it is heard, reads what is sent, and acknowledges it. Each counts as
 * missed after two pings; the last two only while it is heard. Reads no clock.
 */
export class PeerWatch {
  readonly #hearing: KeepAlive;
  readonly #reading: KeepAlive;
  readonly #acknowledging: KeepAlive;

  constructor(pingIntervalMs: number) {
    this.#hearing = new KeepAlive(pingIntervalMs);
    this.#reading = new KeepAlive(pingIntervalMs);
    this.#acknowledging = new KeepAlive(pingIntervalMs);
  }

  /** It has another connection. */
  begin(): void {
    this.#hearing.heard();
    this.#reading.heard();
    this.#acknowledging.heard();
  }

  /** Any message, ping or pong was received. */
  heard(): void {
    this.#hearing.heard();
  }

  /**
   * A peer that acknowledges nothing cannot resume from now on.
   *
   * @param pingIntervalMs - of this moment
   * @returns `silent`: its connection may be broken; `unread`: it is heard, but nothing that is sent leaves this side
   */
  tick(
    nowMs: number,
    continuity: Continuity,
    pingIntervalMs?: number,
  ): "wait" | "ping" | "silent" | "unread" {
    const verdict = this.#hearing.tick(nowMs, pingIntervalMs);
    if (verdict === "dead") return "silent";
    const { outbox } = continuity;
    if (outbox.takeProgress()) this.#reading.heard();
    if (outbox.log?.takeProgress() !== false) this.#acknowledging.heard();
    const isRead = this.#reading.tick(nowMs) !== "dead";
    const isAcknowledged = this.#acknowledging.tick(nowMs) !== "dead";
    // A connection that broke without a word takes nothing either, and is one that can be resumed.
    if (this.#hearing.isMissing) return verdict;
    if (!isRead) return "unread";
    if (!isAcknowledged) continuity.giveUp();
    return verdict;
  }
}
