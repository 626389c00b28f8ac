import {
  DETAIL_EVENT_NAMES,
  type DetailEventName,
  type DetailPayloads,
  type EventName,
  type EventPayloads,
} from "@roomhub/protocol";
import { Audience, type EventListener, type Subscriber } from "./audience.ts";
import { Occurrence } from "./occurrence.ts";

/** Whether any stream of the hub shows detail. Without one, no detail is recorded. Contract §5, "Detail". */
export interface DetailWatch {
  readonly isWatched: boolean;
}

/** Whether all rooms of the hub are watched, and with which events. */
export type HubWideWatch = "none" | "events" | "detail";

/** An event of another hub. */
export interface EventElsewhere {
  roomCode: string;
  /** Its room is closed. */
  isHidden: boolean;
  name: EventName | DetailEventName;
  timestamp: string;
  payload: object;
}

/** The numbering of a room's events. */
export interface RoomStream {
  /** what ids begin with: the boot id of the hub where the stream began */
  readonly name: string;
  readonly count: number;
}

/**
 * Which subscribers get which events. Contract §5: ids are `<bootId>-<n>`, counted per room, and once more for the
 * hub-wide stream. Only unsent events are kept, see {@link Audience}.
 */
export class EventBus {
  /** The same object as long as the bus exists: running requests read it often. */
  readonly detail: DetailWatch;
  readonly #detail = { isWatched: false };
  readonly #detailed = new Set<Subscriber>();
  readonly #bootId: string;
  readonly #later: (flush: () => void) => void;
  readonly #onWatch: (() => void) | undefined;
  readonly #isClosed: (roomCode: string) => boolean;
  readonly #rooms = new Map<string, Audience>();
  readonly #hubWide = new Audience();
  /** Other hubs, which show the events of this hub to their watchers of all rooms. */
  readonly #hubs = new Audience();
  readonly #streams = new Map<string, { name: string; count: number }>();
  /** how often a room has left this hub */
  readonly #departures = new Map<string, number>();
  /** rooms created since this hub started; loaded rooms had their `room.created` before */
  readonly #created = new Set<string>();
  readonly #unsaid = new Set<Audience>();
  #hubWideCount = 0;

  /**
   * @param later - calls back when published events are to be sent, see {@link createBatch}
   * @param onWatch - called when what is watched has changed; in a cluster, other hubs have other rooms
   * @param isClosed - Streams of the whole hub leave such rooms out. Contract §9
   */
  constructor(
    bootId: string,
    later: (flush: () => void) => void,
    onWatch?: () => void,
    isClosed: (roomCode: string) => boolean = () => false,
  ) {
    this.#bootId = bootId;
    this.#later = later;
    this.#onWatch = onWatch;
    this.#isClosed = isClosed;
    this.detail = this.#detail;
  }

  /** @param roomCode - undefined for the hub-wide stream @returns how to stop */
  subscribe(roomCode: string | undefined, subscriber: Subscriber): () => void {
    const audience = roomCode === undefined ? this.#hubWide : this.#audienceOf(roomCode);
    return this.#add(audience, subscriber, roomCode);
  }

  /**
   * Subscribes another hub to the events of this hub's rooms, except those that every hub announces itself. @returns
   * how to stop
   */
  subscribeHub(subscriber: Subscriber): () => void {
    return this.#add(this.#hubs, subscriber, undefined);
  }

  #add(audience: Audience, subscriber: Subscriber, roomCode: string | undefined): () => void {
    audience.add(subscriber);
    if (subscriber.isDetailed) this.#detailed.add(subscriber);
    this.#noteWatch();
    return () => {
      audience.remove(subscriber);
      this.#detailed.delete(subscriber);
      this.#noteWatch();
      this.#forgetIfEmpty(roomCode, audience);
    };
  }

  /** Listens to a room in this process, without numbers and encoding. @returns how to stop */
  listen(roomCode: string, listener: EventListener): () => void {
    const audience = this.#audienceOf(roomCode);
    audience.addListener(listener);
    this.#noteWatch();
    return () => {
      audience.removeListener(listener);
      this.#forgetIfEmpty(roomCode, audience);
      this.#noteWatch();
    };
  }

  get hubWideWatch(): HubWideWatch {
    if (this.#hubWide.size === 0) return "none";
    return this.#hubWide.hasDetail ? "detail" : "events";
  }

  /** The rooms with listeners in this process. */
  listenedRooms(): string[] {
    return [...this.#rooms].filter(([, { hasListeners }]) => hasListeners).map(([code]) => code);
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
    const stream = this.#streamOf(roomCode);
    stream.count++;
    if (name === "room.created") this.#created.add(roomCode);
    const isClosed = this.#isClosed(roomCode);
    if (!isClosed) this.#hubWideCount++;
    const audience = this.#rooms.get(roomCode);
    if (audience === undefined && this.#hubWide.size + this.#hubs.size === 0) return;
    const occurrence = new Occurrence(roomCode, name, timestamp(), payload);
    if (audience !== undefined) this.#put(audience, idOf(stream), occurrence);
    // Every hub announces a new room itself.
    if (this.#hubs.size > 0 && name !== "room.created")
      this.#put(this.#hubs, idOf(stream), isClosed ? occurrence.hidden() : occurrence);
    if (this.#hubWide.size > 0 && !isClosed) this.#put(this.#hubWide, this.#hubWideId, occurrence);
  }

  /**
   * Relays an event of another hub to the watchers of all rooms, with a number of this hub, and to the room's listeners
   * in this process.
   */
  relay({ roomCode, isHidden, name, timestamp, payload }: EventElsewhere): void {
    const occurrence = new Occurrence(roomCode, name, timestamp, payload);
    if (isDetail(name)) {
      if (isHidden) return;
      this.#hubWide.putDetail(occurrence);
      this.#flushLater(this.#hubWide);
      return;
    }
    if (!isHidden) this.#hubWideCount++;
    if (this.#hubWide.size > 0 && !isHidden) this.#put(this.#hubWide, this.#hubWideId, occurrence);
    const audience = this.#rooms.get(roomCode);
    if (audience?.hasListeners !== true) return;
    audience.tell(occurrence);
    this.#flushLater(audience);
  }

  get #hubWideId(): string {
    return idOf({ name: this.#bootId, count: this.#hubWideCount });
  }

  /** Publishes to streams with detail. Not counted: a stream without detail would seem to miss events. */
  publishDetail<Name extends DetailEventName>(
    roomCode: string,
    name: Name,
    timestamp: () => string,
    payload: DetailPayloads[Name],
  ): void {
    const occurrence = new Occurrence(roomCode, name, timestamp(), payload);
    const isClosed = this.#isClosed(roomCode);
    for (const audience of [this.#rooms.get(roomCode), this.#hubWide, this.#hubs]) {
      if (audience?.hasDetail !== true || (isClosed && audience === this.#hubWide)) continue;
      audience.putDetail(isClosed && audience === this.#hubs ? occurrence.hidden() : occurrence);
      this.#flushLater(audience);
    }
  }

  #noteWatch(): void {
    this.#detail.isWatched = this.#detailed.size > 0;
    this.#onWatch?.();
  }

  /** Whether the room's `room.created` was published here, as number 1. */
  hasCreated(roomCode: string): boolean {
    return this.#created.has(roomCode);
  }

  /**
   * Sends one event to one subscriber: `room.created` to a watcher that opens its stream right after the creation.
   * Contract §5.
   */
  replay<Name extends EventName>(
    subscriber: Subscriber,
    roomCode: string,
    name: Name,
    timestamp: string,
    payload: EventPayloads[Name],
  ): void {
    const occurrence = new Occurrence(roomCode, name, timestamp, payload);
    const id = idOf({ name: this.#streamOf(roomCode).name, count: 1 });
    subscriber.deliver(Buffer.from(occurrence.wire(subscriber.spelling, id)));
  }

  streamOf(roomCode: string): RoomStream {
    return { ...this.#streamOf(roomCode) };
  }

  /** The room came from another hub: continues its numbers. */
  goOn(roomCode: string, { name, count }: RoomStream): void {
    this.#streams.set(roomCode, { name, count });
  }

  /**
   * The room has another home: its streams end here. If it returns without its numbers, they begin under another name.
   */
  leaveRoom(roomCode: string, retryMs: number): void {
    const departures = (this.#departures.get(roomCode) ?? 0) + 1;
    this.endRoom(roomCode, retryMs);
    this.#departures.set(roomCode, departures);
  }

  /** The room was dropped: its streams and its count end. */
  endRoom(roomCode: string, retryMs: number): void {
    this.#rooms.get(roomCode)?.endAll(() => retryMs);
    this.#streams.delete(roomCode);
    this.#departures.delete(roomCode);
    this.#created.delete(roomCode);
  }

  /** Every stream ends. @param retryMs - see {@link Audience.endAll} */
  endAll(retryMs: () => number): void {
    for (const audience of [this.#hubWide, this.#hubs, ...this.#rooms.values()])
      audience.endAll(retryMs);
  }

  #streamOf(roomCode: string): { name: string; count: number } {
    let stream = this.#streams.get(roomCode);
    if (stream === undefined) {
      const departures = this.#departures.get(roomCode);
      const name = departures === undefined ? this.#bootId : `${this.#bootId}.${departures}`;
      this.#streams.set(roomCode, (stream = { name, count: 0 }));
    }
    return stream;
  }

  #audienceOf(roomCode: string): Audience {
    const audience = this.#rooms.get(roomCode) ?? new Audience();
    this.#rooms.set(roomCode, audience);
    return audience;
  }

  #forgetIfEmpty(roomCode: string | undefined, audience: Audience): void {
    if (roomCode === undefined || !audience.isEmpty) return;
    if (this.#rooms.get(roomCode) === audience) this.#rooms.delete(roomCode);
  }

  #put(audience: Audience, id: string, occurrence: Occurrence): void {
    audience.put(occurrence, id);
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

function isDetail(name: EventName | DetailEventName): name is DetailEventName {
  return (DETAIL_EVENT_NAMES as readonly string[]).includes(name);
}

function idOf({ name, count }: RoomStream): string {
  return `${name}-${count}`;
}
