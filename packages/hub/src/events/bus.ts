import {
  type DetailEventName,
  type DetailPayloads,
  encodeSseEvent,
  spellEventName,
  type EventName,
  type EventPayloads,
  type EventSpelling,
  type HubEvent,
} from "@roomhub/protocol";
import { Audience, type EventListener, type Published, type Subscriber } from "./audience.ts";

/** Whether any stream of the hub shows detail: without one, nothing is noted for it. Contract §5, "Detail". */
export interface DetailWatch {
  readonly isWatched: boolean;
}

/** Hears which rooms have watchers here. */
export interface WatchObserver {
  /** The first watcher came, of a room or, with undefined, of the whole hub. */
  watched(roomCode: string | undefined): void;
  /** The last one left. */
  unwatched(roomCode: string | undefined): void;
  /** The first stream with detail came. */
  detailWatched(): void;
}

/**
 * Which subscribers get which events. Contract §5: ids are `<bootId>-<n>`, counted per room, and once more for the hub-wide stream.
 * Nothing is kept but what is about to leave, see {@link Audience}.
 */
export class EventBus {
  /** The same object for as long as the bus: what runs looks at it often. */
  readonly detail: DetailWatch;
  readonly #detail = { isWatched: false };
  readonly #detailed = new Set<Subscriber>();
  readonly #bootId: string;
  readonly #later: (flush: () => void) => void;
  readonly #observer: WatchObserver | undefined;
  readonly #rooms = new Map<string, Audience>();
  readonly #hubWide = new Audience();
  readonly #counts = new Map<string, number>();
  /** rooms created since this hub started: those that were loaded had their `room.created` in another life */
  readonly #created = new Set<string>();
  readonly #unsaid = new Set<Audience>();
  #hubWideCount = 0;
  #isDetailWatchedElsewhere = false;

  /** @param later - calls back when what was published meanwhile shall leave, see {@link createPace} */
  constructor(bootId: string, later: (flush: () => void) => void, observer?: WatchObserver) {
    this.#bootId = bootId;
    this.#later = later;
    this.#observer = observer;
    this.detail = this.#detail;
  }

  /** @param roomCode - undefined for the hub-wide stream. @returns how to stop */
  subscribe(roomCode: string | undefined, subscriber: Subscriber): () => void {
    const audience = roomCode === undefined ? this.#hubWide : this.#audienceOf(roomCode);
    if (audience.isEmpty) this.#observer?.watched(roomCode);
    audience.add(subscriber);
    if (subscriber.isDetailed) this.#addDetailed(subscriber);
    this.#noteDetail();
    return () => {
      audience.remove(subscriber);
      this.#detailed.delete(subscriber);
      this.#noteDetail();
      this.#forgetIfEmpty(roomCode, audience);
    };
  }

  /** Hears a room from inside this process, without number and encoding. @returns how to stop */
  listen(roomCode: string, listener: EventListener): () => void {
    const audience = this.#audienceOf(roomCode);
    if (audience.isEmpty) this.#observer?.watched(roomCode);
    audience.addListener(listener);
    return () => {
      audience.removeListener(listener);
      this.#forgetIfEmpty(roomCode, audience);
    };
  }

  subscriberCount(roomCode: string | undefined): number {
    return roomCode === undefined ? this.#hubWide.size : (this.#rooms.get(roomCode)?.size ?? 0);
  }

  publish<Name extends EventName>(
    roomCode: string,
    name: Name,
    timestamp: () => string,
    payload: EventPayloads[Name],
  ): void {
    const count = (this.#counts.get(roomCode) ?? 0) + 1;
    this.#counts.set(roomCode, count);
    if (name === "room.created") this.#created.add(roomCode);
    this.#hubWideCount++;
    const audience = this.#rooms.get(roomCode);
    if (audience === undefined && this.#hubWide.size === 0) return;
    const occurrence = new Occurrence(this.#bootId, roomCode, name, timestamp(), payload);
    if (audience !== undefined) this.#put(audience, count, occurrence);
    if (this.#hubWide.size > 0) this.#put(this.#hubWide, this.#hubWideCount, occurrence);
  }

  /** For streams with detail alone. Not counted: a stream without detail would seem to miss events. */
  publishDetail<Name extends DetailEventName>(
    roomCode: string,
    name: Name,
    timestamp: () => string,
    payload: DetailPayloads[Name],
  ): void {
    const occurrence = new Occurrence(this.#bootId, roomCode, name, timestamp(), payload);
    for (const audience of [this.#rooms.get(roomCode), this.#hubWide]) {
      if (audience?.hasDetail !== true) continue;
      audience.putDetail(occurrence);
      this.#flushLater(audience);
    }
  }

  /** Whether a stream of this hub shows detail. */
  get isDetailWatchedHere(): boolean {
    return this.#detailed.size > 0;
  }

  get isDetailWatchedElsewhere(): boolean {
    return this.#isDetailWatchedElsewhere;
  }

  /** Whether a stream of another hub of the cluster shows detail. */
  set isDetailWatchedElsewhere(isWatched: boolean) {
    this.#isDetailWatchedElsewhere = isWatched;
    this.#noteDetail();
  }

  #addDetailed(subscriber: Subscriber): void {
    this.#detailed.add(subscriber);
    if (this.#detailed.size === 1) this.#observer?.detailWatched();
  }

  #noteDetail(): void {
    this.#detail.isWatched = this.isDetailWatchedHere || this.#isDetailWatchedElsewhere;
  }

  /** So many events of the room happened elsewhere and did not get here: their numbers are left out. */
  skip(roomCode: string, count: number): void {
    this.#counts.set(roomCode, (this.#counts.get(roomCode) ?? 0) + count);
    this.#hubWideCount += count;
  }

  /** Whether the room's `room.created` was published here, with the number 1. */
  hasCreated(roomCode: string): boolean {
    return this.#created.has(roomCode);
  }

  /** One event for one subscriber: a room's `room.created` for a watcher that opens its stream at once. Contract §5. */
  replay<Name extends EventName>(
    subscriber: Subscriber,
    roomCode: string,
    name: Name,
    timestamp: string,
    payload: EventPayloads[Name],
  ): void {
    const occurrence = new Occurrence(this.#bootId, roomCode, name, timestamp, payload);
    subscriber.deliver(Buffer.from(occurrence.wire(subscriber.spelling, 1)));
  }

  /** The room was dropped: its streams end, and its count with them. */
  endRoom(roomCode: string, retryMs: number): void {
    this.#rooms.get(roomCode)?.endAll(() => retryMs);
    this.#counts.delete(roomCode);
    this.#created.delete(roomCode);
  }

  /** Every stream ends. @param retryMs - see {@link Audience.endAll} */
  endAll(retryMs: () => number): void {
    for (const audience of [this.#hubWide, ...this.#rooms.values()]) audience.endAll(retryMs);
  }

  #audienceOf(roomCode: string): Audience {
    const audience = this.#rooms.get(roomCode) ?? new Audience();
    this.#rooms.set(roomCode, audience);
    return audience;
  }

  #forgetIfEmpty(roomCode: string | undefined, audience: Audience): void {
    if (!audience.isEmpty) return;
    if (roomCode === undefined) this.#observer?.unwatched(undefined);
    else if (this.#rooms.get(roomCode) === audience) {
      this.#rooms.delete(roomCode);
      this.#observer?.unwatched(roomCode);
    }
  }

  #put(audience: Audience, count: number, occurrence: Occurrence): void {
    audience.put(occurrence, count);
    this.#flushLater(audience);
  }

  #flushLater(audience: Audience): void {
    const isFirst = this.#unsaid.size === 0;
    this.#unsaid.add(audience);
    if (isFirst) this.#later(this.#flush);
  }

  readonly #flush = (): void => {
    const audiences = [...this.#unsaid];
    this.#unsaid.clear();
    for (const audience of audiences) audience.flush();
  };
}

/** One event, but for its number. What is the same for all subscribers is made once. */
class Occurrence implements Published {
  readonly #bootId: string;
  readonly #roomCode: string;
  readonly #name: EventName | DetailEventName;
  readonly #timestamp: string;
  readonly #payload: object;
  /** JSON, without the brace that opens it and the type */
  #fields: string | undefined;

  /** @param payload - the one that belongs to the name */
  constructor(
    bootId: string,
    roomCode: string,
    name: EventName | DetailEventName,
    timestamp: string,
    payload: object,
  ) {
    this.#bootId = bootId;
    this.#roomCode = roomCode;
    this.#name = name;
    this.#timestamp = timestamp;
    this.#payload = payload;
  }

  value(): HubEvent {
    const [type, timestamp, roomCode] = [this.#name, this.#timestamp, this.#roomCode];
    // A name and its own payload: the compiler sees two unions. Listeners get no detail.
    return { type, timestamp, roomCode, ...this.#payload } as unknown as HubEvent;
  }

  wire(spelling: EventSpelling, count: number | undefined): string {
    const spelled = spellEventName(this.#name, spelling);
    this.#fields ??= this.#encodeFields();
    const id = count === undefined ? undefined : `${this.#bootId}-${count}`;
    return encodeSseEvent(id, spelled, `{"type":"${spelled}",${this.#fields}`);
  }

  /** Nothing in a timestamp or a room's code needs escaping. */
  #encodeFields(): string {
    const members = JSON.stringify(this.#payload).slice(1);
    const comma = members === "}" ? "" : ",";
    return `"timestamp":"${this.#timestamp}","roomCode":"${this.#roomCode}"${comma}${members}`;
  }
}
