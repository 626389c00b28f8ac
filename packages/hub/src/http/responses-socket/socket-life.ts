/** What is due on a socket: nothing, a ping, or its end because the client is unresponsive or its time is over. */
export type Due = "nothing" | "ping" | "dead" | "expired";

const maxMissedPings = 2;

/** How long a socket may live, and whether its client still does. Reads no clock. */
export class SocketLife {
  readonly #limits: { responseSocketMs: number; responseSocketPingMs: number };
  readonly #openedMs: number;
  #pingedMs: number;
  #missedPings = 0;

  constructor(
    limits: { responseSocketMs: number; responseSocketPingMs: number },
    openedMs: number,
  ) {
    this.#limits = limits;
    this.#openedMs = openedMs;
    this.#pingedMs = openedMs;
  }

  /** Anything came in. */
  heard(): void {
    this.#missedPings = 0;
  }

  /** @param isBehind - the client may find a ping only after much else; its turn watches whether it reads at all */
  due(nowMs: number, isBehind: boolean): Due {
    const { responseSocketMs, responseSocketPingMs } = this.#limits;
    if (nowMs - this.#openedMs > responseSocketMs) return "expired";
    if (nowMs - this.#pingedMs <= responseSocketPingMs) return "nothing";
    this.#pingedMs = nowMs;
    if (isBehind) return "nothing";
    if (this.#missedPings >= maxMissedPings) return "dead";
    this.#missedPings++;
    return "ping";
  }
}
