import type { EventSpelling, HubEvent } from "@roomhub/protocol";
import type { Occurrence } from "./occurrence.ts";

/**
 * A watcher of one room, or of the whole hub. Gets events as bytes, in order, one or more at once. All subscribers with
 * the same spelling and detail get the same bytes.
 */
export interface Subscriber {
  readonly spelling: EventSpelling;
  /** It gets the events of running requests too. Contract §5, "Detail". */
  readonly isDetailed: boolean;
  /** Must neither throw nor block. The subscriber itself ends a stream that is behind. */
  deliver(wire: Buffer): void;
  /** The stream is over; the hub stops. */
  end(retryMs: number): void;
}

/** Gets a room's events as values in this process, in order, one or more at once. Must not throw. */
export type EventListener = (events: readonly HubEvent[]) => void;

/** Approximate limit of unsent text. */
const maxWaitingCharacters = 64 * 1024;

/** Subscribers that get the same events. Events between two flushes reach each subscriber in one piece. */
export class Audience {
  readonly #feeds = [
    new Feed("colon", false),
    new Feed("dot", false),
    new Feed("colon", true),
    new Feed("dot", true),
  ];
  readonly #listeners = new Set<EventListener>();
  #waitingValues: HubEvent[] = [];

  #size = 0;
  #hasDetail = false;

  /** The number of subscribers that get bytes. */
  get size(): number {
    return this.#size;
  }

  get isEmpty(): boolean {
    return this.#size + this.#listeners.size === 0;
  }

  get hasListeners(): boolean {
    return this.#listeners.size > 0;
  }

  /** Whether any of them gets detail. */
  get hasDetail(): boolean {
    return this.#hasDetail;
  }

  /** Earlier events are not for the new one. */
  add(subscriber: Subscriber): void {
    this.flush();
    this.#feedOf(subscriber)?.subscribers.add(subscriber);
    this.#recount();
  }

  remove(subscriber: Subscriber): void {
    this.#feedOf(subscriber)?.subscribers.delete(subscriber);
    this.#recount();
  }

  /** Counted on each change, since every event reads the result. */
  #recount(): void {
    const filled = this.#feeds.filter(({ subscribers }) => subscribers.size > 0);
    this.#size = filled.reduce((sum, { subscribers }) => sum + subscribers.size, 0);
    this.#hasDetail = filled.some(({ isDetailed }) => isDetailed);
  }

  #feedOf({ spelling, isDetailed }: Subscriber): Feed | undefined {
    return this.#feeds.find((feed) => feed.spelling === spelling && feed.isDetailed === isDetailed);
  }

  /** Earlier events are not for the new one. */
  addListener(listener: EventListener): void {
    this.flush();
    this.#listeners.add(listener);
  }

  removeListener(listener: EventListener): void {
    this.#listeners.delete(listener);
  }

  /** Puts an event for listeners only. */
  tell(event: Occurrence): void {
    if (this.hasListeners) this.#waitingValues.push(event.value());
  }

  put(event: Occurrence, id: string): void {
    this.tell(event);
    for (const feed of this.#feeds) feed.put(event, id);
    this.#flushIfLong();
  }

  /** Puts an event for subscribers with detail only; it is not counted. */
  putDetail(event: Occurrence): void {
    for (const feed of this.#feeds) if (feed.isDetailed) feed.put(event, undefined);
    this.#flushIfLong();
  }

  #flushIfLong(): void {
    if (this.#feeds.some(({ waiting }) => waiting.length > maxWaitingCharacters)) this.flush();
  }

  flush(): void {
    this.#flushValues();
    for (const feed of this.#feeds) feed.flush();
  }

  #flushValues(): void {
    const values = this.#waitingValues;
    if (values.length === 0) return;
    this.#waitingValues = [];
    for (const listener of this.#listeners) listener(values);
  }

  /** @param retryMs - a new pause for each, so that they do not reconnect at once */
  endAll(retryMs: () => number): void {
    this.flush();
    for (const { subscribers } of this.#feeds) {
      for (const subscriber of [...subscribers]) subscriber.end(retryMs());
    }
  }
}

/** Subscribers that get the same bytes, and the text that waits for them. */
class Feed {
  readonly spelling: EventSpelling;
  readonly isDetailed: boolean;
  readonly subscribers = new Set<Subscriber>();
  waiting = "";

  constructor(spelling: EventSpelling, isDetailed: boolean) {
    this.spelling = spelling;
    this.isDetailed = isDetailed;
  }

  put(event: Occurrence, id: string | undefined): void {
    if (this.subscribers.size > 0) this.waiting += event.wire(this.spelling, id);
  }

  flush(): void {
    if (this.waiting === "") return;
    const wire = Buffer.from(this.waiting);
    this.waiting = "";
    for (const subscriber of this.subscribers) subscriber.deliver(wire);
  }
}
