import type { EventSpelling, HubEvent } from "@roomhub/protocol";

/**
 * A watcher of one room, or of the whole hub. Gets events as they go on the wire, in order, one or more at once. The
 * bytes are those that all others with its spelling and detail get, too.
 */
export interface Subscriber {
  readonly spelling: EventSpelling;
  /** It gets the events of requests on their way too. Contract §5, "Detail". */
  readonly isDetailed: boolean;
  /** Must neither throw nor block; a subscriber that is behind is dropped by its own side. */
  deliver(wire: Buffer): void;
  /** The stream is over; the hub stops. */
  end(retryMs: number): void;
}

/** Gets a room's events as values, in this process, in order, one or more at once. Must not throw. */
export type EventListener = (events: readonly HubEvent[]) => void;

/** One event; each form is made when the first one needs it. */
export interface Published {
  /** @param id - for this audience; undefined for detail, which is not counted */
  wire(spelling: EventSpelling, id: string | undefined): string;
  value(): HubEvent;
}

/** Of what waits, about: the buffers of those that read are larger. */
const maxWaitingCharacters = 64 * 1024;

/** Subscribers that get the same events. What happens between two flushes reaches each of them in one piece. */
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

  /** Of subscribers to the wire form. */
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

  /** What happened before is not for the new one. */
  add(subscriber: Subscriber): void {
    this.flush();
    this.#feedOf(subscriber)?.subscribers.add(subscriber);
    this.#recount();
  }

  remove(subscriber: Subscriber): void {
    this.#feedOf(subscriber)?.subscribers.delete(subscriber);
    this.#recount();
  }

  /** Once for each change, since every event reads it. */
  #recount(): void {
    const filled = this.#feeds.filter(({ subscribers }) => subscribers.size > 0);
    this.#size = filled.reduce((sum, { subscribers }) => sum + subscribers.size, 0);
    this.#hasDetail = filled.some(({ isDetailed }) => isDetailed);
  }

  #feedOf({ spelling, isDetailed }: Subscriber): Feed | undefined {
    return this.#feeds.find((feed) => feed.spelling === spelling && feed.isDetailed === isDetailed);
  }

  /** What happened before is not for the new one. */
  addListener(listener: EventListener): void {
    this.flush();
    this.#listeners.add(listener);
  }

  removeListener(listener: EventListener): void {
    this.#listeners.delete(listener);
  }

  /** For listeners alone. */
  tell(event: Published): void {
    if (this.hasListeners) this.#waitingValues.push(event.value());
  }

  put(event: Published, id: string): void {
    this.tell(event);
    for (const feed of this.#feeds) feed.put(event, id);
    this.#flushIfLong();
  }

  /** For those with detail alone, and not counted. */
  putDetail(event: Published): void {
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

  /** @param retryMs - a fresh pause for each, so that they do not come back at once */
  endAll(retryMs: () => number): void {
    this.flush();
    for (const { subscribers } of this.#feeds) {
      for (const subscriber of [...subscribers]) subscriber.end(retryMs());
    }
  }
}

/** Subscribers that get the same bytes, and what waits for them. */
class Feed {
  readonly spelling: EventSpelling;
  readonly isDetailed: boolean;
  readonly subscribers = new Set<Subscriber>();
  waiting = "";

  constructor(spelling: EventSpelling, isDetailed: boolean) {
    this.spelling = spelling;
    this.isDetailed = isDetailed;
  }

  put(event: Published, id: string | undefined): void {
    if (this.subscribers.size > 0) this.waiting += event.wire(this.spelling, id);
  }

  flush(): void {
    if (this.waiting === "") return;
    const wire = Buffer.from(this.waiting);
    this.waiting = "";
    for (const subscriber of this.subscribers) subscriber.deliver(wire);
  }
}
