import { DETAIL_EVENT_NAMES, type DetailEventName, type EventName } from "@roomhub/protocol";
import type { BusMessage, ShownEvent } from "./bus-message.ts";
import type { Participant } from "../../domain/participant.ts";
import type { ClusterDirectory } from "../directory.ts";
import { type LearnedChange, UnshownChanges } from "./unshown-changes.ts";

/** An event that waits for its participant's entry is shown after this long without it. Contract §8. */
const longestWaitMs = 1_000;

export interface EventBridgeOptions {
  bootId: string;
  directory: Pick<ClusterDirectory, "publish" | "subscribe">;
  nowMs: () => number;
  /** epoch ms */
  wallMs: () => number;
  /** Whether watchers at other hubs see the room. */
  isWatchedElsewhere: (roomCode: string) => boolean;
  /** The revision of a participant's entry up to which this hub knows it. */
  revisionOf: (roomCode: string, participantId: string) => number;
  /** Shows an event of another hub, or one in place of it, to the watchers here. */
  show: (roomCode: string, event: ShownEvent) => void;
  /** Watchers here miss so many events of the room. */
  skip: (roomCode: string, count: number) => void;
}

/** The entry that an event of a participant shows. */
export interface ShownEntry {
  participantId: string;
  /** its revision once it is stored; undefined when it could not be */
  revision: number | undefined | Promise<number | undefined>;
}

/**
 * Events between the hubs of a cluster. Those of one hub keep their order, none is shown twice, and one that shows a
 * participant comes after the participant's entry.
 */
export class EventBridge {
  readonly #options: EventBridgeOptions;
  /** events of a room that wait for an entry to be stored, and those behind them */
  readonly #outgoing = new Map<string, Promise<void>>();
  readonly #sequences = new Map<string, number>();
  readonly #incoming = new Map<string, Map<string, Feed>>();
  readonly #subscriptions = new Map<string | undefined, () => void>();

  readonly #unshown: UnshownChanges;

  constructor(options: EventBridgeOptions) {
    this.#options = options;
    const { nowMs, wallMs, show } = options;
    const isWatched = (roomCode: string) =>
      this.#subscriptions.has(roomCode) || this.#subscriptions.has(undefined);
    this.#unshown = new UnshownChanges({ nowMs, wallMs, isWatched, show });
  }

  /**
   * An event of this hub, for the watchers at all others; counted when there are none.
   *
   * @param entryShown - called when it is sent
   */
  publish(
    roomCode: string,
    name: EventName | DetailEventName,
    timestamp: string,
    payload: object,
    entryShown?: () => ShownEntry | undefined,
  ): void {
    const series = isDetail(name) ? `${roomCode} detail` : roomCode;
    const sequence = (this.#sequences.get(series) ?? 0) + 1;
    this.#sequences.set(series, sequence);
    // Of another hub's participant too, whose hub is dead: the watchers here have it from this hub.
    this.#unshown.shown(roomCode, { name, payload });
    if (!this.#options.isWatchedElsewhere(roomCode)) return;
    const shown = entryShown?.();
    const { bootId: origin } = this.#options;
    const message: BusMessage = { origin, sequence, roomCode, name, timestamp, payload };
    const before = this.#outgoing.get(roomCode);
    if (before === undefined && !(shown?.revision instanceof Promise)) {
      this.#send(roomCode, message, shown?.participantId, shown?.revision);
      return;
    }
    // As it is now: what it shows goes on changing.
    message.payload = structuredClone(payload);
    const sent = this.#sendAfter(before, roomCode, message, shown);
    this.#outgoing.set(roomCode, sent);
    void sent.then(() => {
      if (this.#outgoing.get(roomCode) === sent) this.#outgoing.delete(roomCode);
    });
  }

  async #sendAfter(
    before: Promise<void> | undefined,
    roomCode: string,
    message: BusMessage,
    shown: ShownEntry | undefined,
  ): Promise<void> {
    await before;
    this.#send(roomCode, message, shown?.participantId, await shown?.revision);
  }

  #send(
    roomCode: string,
    message: BusMessage,
    participantId: string | undefined,
    revision: number | undefined,
  ): void {
    const isGated = participantId !== undefined && revision !== undefined;
    this.#options.directory.publish(
      roomCode,
      isGated ? { ...message, participantId, revision } : message,
    );
  }

  /** The first watcher of the room came, or with undefined of all rooms. */
  watch(roomCode: string | undefined): void {
    if (this.#subscriptions.has(roomCode)) return;
    const { directory } = this.#options;
    this.#subscriptions.set(
      roomCode,
      directory.subscribe(roomCode, (message) => this.#receive(message)),
    );
  }

  /** The last watcher has left. */
  unwatch(roomCode: string | undefined): void {
    this.#subscriptions.get(roomCode)?.();
    this.#subscriptions.delete(roomCode);
    if (this.#subscriptions.has(undefined)) return;
    if (roomCode === undefined) {
      for (const code of this.#incoming.keys()) {
        if (!this.#subscriptions.has(code)) this.#incoming.delete(code);
      }
    } else this.#incoming.delete(roomCode);
  }

  /** This hub knows more of a room's participants now, or time has passed: what waited for that is shown. */
  release(roomCode: string): void {
    for (const feed of this.#incoming.get(roomCode)?.values() ?? [])
      this.#showReady(roomCode, feed);
  }

  /** The replica has a participant of another hub from the directory, and an event is to show it. */
  learned(participant: Participant, change: LearnedChange): void {
    this.#unshown.learned(participant, change);
  }

  /** Shows what has waited long enough. */
  tick(): void {
    this.#unshown.tick();
    for (const roomCode of this.#incoming.keys()) this.release(roomCode);
  }

  /** The room was dropped. */
  forget(roomCode: string): void {
    this.#sequences.delete(roomCode);
    this.#sequences.delete(`${roomCode} detail`);
    this.#incoming.delete(roomCode);
  }

  #receive(message: BusMessage): void {
    // The bus keeps a hub's own events from it, but for those that an earlier connection of the hub still brings it.
    if (message.origin === this.#options.bootId) return;
    const { roomCode } = message;
    const feeds = this.#incoming.get(roomCode) ?? new Map<string, Feed>();
    this.#incoming.set(roomCode, feeds);
    const series = isDetail(message.name) ? `${message.origin} detail` : message.origin;
    const feed = feeds.get(series) ?? { sequence: undefined, waiting: [] };
    feeds.set(series, feed);
    const { sequence: last } = feed;
    // A hub that watches one room and all rooms gets each event twice.
    if (last !== undefined && message.sequence <= last) return;
    const missed = last === undefined ? 0 : message.sequence - last - 1;
    feed.sequence = message.sequence;
    feed.waiting.push({ message, missed, sinceMs: this.#options.nowMs() });
    this.#showReady(roomCode, feed);
  }

  #showReady(roomCode: string, feed: Feed): void {
    const { nowMs, show, skip } = this.#options;
    for (;;) {
      const [first] = feed.waiting;
      if (first === undefined) return;
      const hasWaited = nowMs() - first.sinceMs >= longestWaitMs;
      if (!hasWaited && !this.#isKnown(roomCode, first.message)) return;
      feed.waiting.shift();
      // Events of detail have no number that could be left out.
      if (first.missed > 0 && !isDetail(first.message.name)) skip(roomCode, first.missed);
      this.#unshown.shown(roomCode, first.message);
      show(roomCode, first.message);
    }
  }

  #isKnown(roomCode: string, { participantId, revision }: BusMessage): boolean {
    if (participantId === undefined || revision === undefined) return true;
    return this.#options.revisionOf(roomCode, participantId) >= revision;
  }
}

const detailNames: ReadonlySet<string> = new Set(DETAIL_EVENT_NAMES);

/** Whether it is an event of a request on its way. Contract §5, "Detail". */
export function isDetail(name: EventName | DetailEventName): name is DetailEventName {
  return detailNames.has(name);
}

/** What came from one hub about one room. */
interface Feed {
  /** of the last event; undefined before the first */
  sequence: number | undefined;
  readonly waiting: { message: BusMessage; missed: number; sinceMs: number }[];
}
