import {
  encodeSseEvent,
  spellEventName,
  type EventName,
  type EventPayloads,
  type EventSpelling,
} from "@roomhub/protocol";

/** Somebody who watches one room, or the whole hub. Gets each event as it goes on the wire. */
export interface Subscriber {
  readonly spelling: EventSpelling;
  /** Must neither throw nor block; whoever is behind is dropped by its own side. */
  deliver(wire: string): void;
  /** The stream is over; the hub stops. */
  end(retryMs: number): void;
}

/** One event, encoded at most once per spelling and stream. */
interface Occurrence {
  name: EventName;
  fields: string;
}

/**
 * Who hears what. Contract §5: ids are `<bootId>-<n>`, counted per room, and once more for the hub-wide stream.
 * Nothing is kept for later.
 */
export class EventBus {
  readonly #bootId: string;
  readonly #rooms = new Map<string, Set<Subscriber>>();
  readonly #hubWide = new Set<Subscriber>();
  readonly #counts = new Map<string, number>();
  #hubWideCount = 0;

  constructor(bootId: string) {
    this.#bootId = bootId;
  }

  /** @param roomCode - undefined for the hub-wide stream. @returns how to stop */
  subscribe(roomCode: string | undefined, subscriber: Subscriber): () => void {
    if (roomCode === undefined) {
      this.#hubWide.add(subscriber);
      return () => this.#hubWide.delete(subscriber);
    }
    let subscribers = this.#rooms.get(roomCode);
    if (subscribers === undefined) this.#rooms.set(roomCode, (subscribers = new Set()));
    subscribers.add(subscriber);
    return () => {
      subscribers.delete(subscriber);
      if (subscribers.size === 0 && this.#rooms.get(roomCode) === subscribers) {
        this.#rooms.delete(roomCode);
      }
    };
  }

  subscriberCount(roomCode: string | undefined): number {
    return roomCode === undefined ? this.#hubWide.size : (this.#rooms.get(roomCode)?.size ?? 0);
  }

  publish<Name extends EventName>(
    roomCode: string,
    name: Name,
    timestamp: string,
    payload: EventPayloads[Name],
  ): void {
    const count = (this.#counts.get(roomCode) ?? 0) + 1;
    this.#counts.set(roomCode, count);
    this.#hubWideCount++;
    const subscribers = this.#rooms.get(roomCode);
    if (subscribers === undefined && this.#hubWide.size === 0) return;
    const occurrence = occurrenceOf(roomCode, name, timestamp, payload);
    if (subscribers !== undefined) this.#deliver(subscribers, count, occurrence);
    if (this.#hubWide.size > 0) this.#deliver(this.#hubWide, this.#hubWideCount, occurrence);
  }

  /** One event for one subscriber: a room's `room.created` for whoever opens its stream at once. Contract §5. */
  replay<Name extends EventName>(
    subscriber: Subscriber,
    roomCode: string,
    name: Name,
    timestamp: string,
    payload: EventPayloads[Name],
  ): void {
    const occurrence = occurrenceOf(roomCode, name, timestamp, payload);
    subscriber.deliver(this.#encode(subscriber.spelling, 1, occurrence));
  }

  /** The room is gone: its streams end, and its count with them. */
  endRoom(roomCode: string, retryMs: number): void {
    for (const subscriber of [...(this.#rooms.get(roomCode) ?? [])]) subscriber.end(retryMs);
    this.#counts.delete(roomCode);
  }

  /** Everybody's stream ends. @param retryMs - a fresh pause for each, so that they do not come back at once */
  endAll(retryMs: () => number): void {
    for (const subscriber of [
      ...this.#hubWide,
      ...[...this.#rooms.values()].flatMap((all) => [...all]),
    ]) {
      subscriber.end(retryMs());
    }
  }

  #deliver(subscribers: Set<Subscriber>, count: number, occurrence: Occurrence): void {
    let colon: string | undefined;
    let dot: string | undefined;
    for (const subscriber of subscribers) {
      if (subscriber.spelling === "colon") {
        subscriber.deliver((colon ??= this.#encode("colon", count, occurrence)));
      } else {
        subscriber.deliver((dot ??= this.#encode("dot", count, occurrence)));
      }
    }
  }

  #encode(spelling: EventSpelling, count: number, { name, fields }: Occurrence): string {
    const spelled = spellEventName(name, spelling);
    return encodeSseEvent(`${this.#bootId}-${count}`, spelled, `{"type":"${spelled}",${fields}`);
  }
}

/** `data` = `{type, timestamp, roomCode, …payload}`; the type is spelled later, the rest is the same for all. */
function occurrenceOf<Name extends EventName>(
  roomCode: string,
  name: Name,
  timestamp: string,
  payload: EventPayloads[Name],
): Occurrence {
  return { name, fields: JSON.stringify({ timestamp, roomCode, ...payload }).slice(1) };
}
