import type { EventSpelling } from "@roomhub/protocol";

/**
 * Somebody who watches one room, or the whole hub. Gets events as they go on the wire, in order, one or more at once. The
 * bytes are those that all others get, too.
 */
export interface Subscriber {
  readonly spelling: EventSpelling;
  /** Must neither throw nor block; whoever is behind is dropped by its own side. */
  deliver(wire: Buffer): void;
  /** The stream is over; the hub stops. */
  end(retryMs: number): void;
}

/** Of what waits, about: the buffers of whoever reads are larger. */
const maxWaitingCharacters = 64 * 1024;

/** Those who hear the same events. What happens between two flushes reaches each of them in one piece. */
export class Audience {
  readonly #subscribers = new Set<Subscriber>();
  readonly #waiting: Record<EventSpelling, string> = { colon: "", dot: "" };
  readonly #count: Record<EventSpelling, number> = { colon: 0, dot: 0 };

  get size(): number {
    return this.#subscribers.size;
  }

  /** What happened before is not for the new one. */
  add(subscriber: Subscriber): void {
    this.flush();
    this.#subscribers.add(subscriber);
    this.#count[subscriber.spelling]++;
  }

  remove(subscriber: Subscriber): void {
    if (this.#subscribers.delete(subscriber)) this.#count[subscriber.spelling]--;
  }

  /** @param encode - called at most once for each spelling that somebody reads */
  put(encode: (spelling: EventSpelling) => string): void {
    if (this.#count.colon > 0) this.#waiting.colon += encode("colon");
    if (this.#count.dot > 0) this.#waiting.dot += encode("dot");
    const { colon, dot } = this.#waiting;
    if (Math.max(colon.length, dot.length) > maxWaitingCharacters) this.flush();
  }

  flush(): void {
    const { colon, dot } = this.#waiting;
    if (colon === "" && dot === "") return;
    this.#waiting.colon = "";
    this.#waiting.dot = "";
    const wires = { colon: Buffer.from(colon), dot: Buffer.from(dot) };
    for (const subscriber of this.#subscribers) {
      const wire = wires[subscriber.spelling];
      if (wire.length > 0) subscriber.deliver(wire);
    }
  }

  /** @param retryMs - a fresh pause for each, so that they do not come back at once */
  endAll(retryMs: () => number): void {
    this.flush();
    for (const subscriber of [...this.#subscribers]) subscriber.end(retryMs());
  }
}
