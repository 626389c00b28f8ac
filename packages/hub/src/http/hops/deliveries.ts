type Outcome = "delivered" | "gone";

/** A response that another hub takes to its client. */
interface Delivery {
  hubId: string;
  /** the connection it left by */
  hop: { readonly destroyed: boolean };
  onEnd: (outcome: Outcome) => void;
}

interface Pending {
  /** undefined once it has ended: V8 keeps what was in a map for a while, see `Roster` */
  delivery: Delivery | undefined;
  /** since when nothing can say that it arrived */
  lostMs: number | undefined;
}

/** A note may still be under way when a connection is closed. */
const lostAfterMs = 2_000;

/**
 * Responses whose last byte has left for the hub that has the client. A request is complete when that hub says that the
 * client's socket took it. Contract §8.
 */
export class Deliveries {
  readonly #nowMs: () => number;
  /** by request id */
  readonly #pending = new Map<string, Pending>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** @param delivery - `hubId` has the client */
  expect(requestId: string, delivery: Delivery): void {
    this.#pending.set(requestId, { delivery, lostMs: undefined });
  }

  /** @param outcome - `gone`: the client left before it had all of the response */
  end(requestId: string, outcome: Outcome): void {
    const pending = this.#pending.get(requestId);
    if (pending === undefined) return;
    const { delivery } = pending;
    pending.delivery = undefined;
    this.#pending.delete(requestId);
    delivery?.onEnd(outcome);
  }

  /** The other hub cannot say anything any more. */
  hubReset(hubId: string): void {
    for (const pending of this.#pending.values()) {
      if (pending.delivery?.hubId === hubId) pending.lostMs ??= this.#nowMs();
    }
  }

  /** The other hub can say again what has arrived. */
  hubReached(hubId: string): void {
    for (const pending of this.#pending.values()) {
      const { delivery } = pending;
      if (delivery?.hubId === hubId && !delivery.hop.destroyed) pending.lostMs = undefined;
    }
  }

  tick(nowMs: number): void {
    for (const [requestId, pending] of this.#pending) {
      if (pending.delivery?.hop.destroyed === true) pending.lostMs ??= nowMs;
      const { lostMs } = pending;
      if (lostMs !== undefined && nowMs - lostMs >= lostAfterMs) this.end(requestId, "gone");
    }
  }
}
