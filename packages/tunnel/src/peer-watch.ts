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
    // A connection that is interrupted takes nothing either, for a while also after the peer is heard again.
    const { isMissing } = this.#hearing;
    if (outbox.takeProgress() || isMissing) this.#reading.heard();
    if (outbox.log?.takeProgress() !== false || isMissing) this.#acknowledging.heard();
    if (this.#reading.tick(nowMs) === "dead") return "unread";
    if (this.#acknowledging.tick(nowMs) === "dead") continuity.giveUp();
    return verdict;
  }
}
