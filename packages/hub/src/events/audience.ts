import type { EventSpelling, HubEvent } from "@roomhub/protocol";

/**
 * A watcher of one room, or of the whole hub. Gets events as they go on the wire, in order, one or more at once. The
 * bytes are those that all others get, too.
 */
export interface Subscriber {
  readonly spelling: EventSpelling;
  /** Must neither throw nor block; a subscriber that is behind is dropped by its own side. */
  deliver(wire: Buffer): void;
  /** The stream is over; the hub stops. */
  end(retryMs: number): void;
}

/** Gets a room's events as values, in this process, in order, one or more at once. Must not throw. */
export type EventListener = (events: readonly HubEvent[]) => void;

/** One event; each form is made when the first one needs it. */
export interface Published {
  /** @param count - of this audience's events up to this one */
  wire(spelling: EventSpelling, count: number): string;
  value(): HubEvent;
}

/** Of what waits, about: the buffers of those that read are larger. */
const maxWaitingCharacters = 64 * 1024;

/** Subscribers that get the same events. What happens between two flushes reaches each of them in one piece. */
export class Audience {
  readonly #subscribers = new Set<Subscriber>();
  readonly #listeners = new Set<EventListener>();
  readonly #waiting: Record<EventSpelling, string> = { colon: "", dot: "" };
  #waitingValues: HubEvent[] = [];
  readonly #count: Record<EventSpelling, number> = { colon: 0, dot: 0 };

  /** Of subscribers to the wire form. */
  get size(): number {
    return this.#subscribers.size;
  }

  get isEmpty(): boolean {
    return this.#subscribers.size + this.#listeners.size === 0;
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

  /** What happened before is not for the new one. */
  addListener(listener: EventListener): void {
    this.flush();
    this.#listeners.add(listener);
  }

  removeListener(listener: EventListener): void {
    this.#listeners.delete(listener);
  }

  put(event: Published, count: number): void {
    if (this.#listeners.size > 0) this.#waitingValues.push(event.value());
    if (this.#count.colon > 0) this.#waiting.colon += event.wire("colon", count);
    if (this.#count.dot > 0) this.#waiting.dot += event.wire("dot", count);
    const { colon, dot } = this.#waiting;
    if (Math.max(colon.length, dot.length) > maxWaitingCharacters) this.flush();
  }

  flush(): void {
    this.#flushValues();
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

  #flushValues(): void {
    const values = this.#waitingValues;
    if (values.length === 0) return;
    this.#waitingValues = [];
    for (const listener of this.#listeners) listener(values);
  }

  /** @param retryMs - a fresh pause for each, so that they do not come back at once */
  endAll(retryMs: () => number): void {
    this.flush();
    for (const subscriber of [...this.#subscribers]) subscriber.end(retryMs());
  }
}
