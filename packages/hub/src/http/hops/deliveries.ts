type Outcome = "delivered" | "gone";

/** A response that another hub takes to its client. */
interface Delivery {
  hubId: string;
  /** the connection it left by */
  hop: { readonly destroyed: boolean };
  onEnd: (outcome: Outcome) => void;
}

interface Pending extends Delivery {
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
    this.#pending.set(requestId, { ...delivery, lostMs: undefined });
  }

  /** @param outcome - `gone`: the client left before it had all of the response */
  end(requestId: string, outcome: Outcome): void {
    const delivery = this.#pending.get(requestId);
    this.#pending.delete(requestId);
    delivery?.onEnd(outcome);
  }

  /** The other hub cannot say anything any more. */
  hubReset(hubId: string): void {
    for (const delivery of this.#pending.values()) {
      if (delivery.hubId === hubId) delivery.lostMs ??= this.#nowMs();
    }
  }

  tick(nowMs: number): void {
    for (const [requestId, delivery] of this.#pending) {
      if (delivery.hop.destroyed) delivery.lostMs ??= nowMs;
      const { lostMs } = delivery;
      if (lostMs !== undefined && nowMs - lostMs >= lostAfterMs) this.end(requestId, "gone");
    }
  }
}
