import {
  createSseReader,
  DETAIL_EVENT_NAMES,
  type DetailEventName,
  EVENT_NAMES,
  type EventName,
} from "@roomhub/protocol";
import type { IncomingMessage } from "node:http";
import type { EventElsewhere, HubWideWatch } from "../../events/bus.ts";
import type { OtherHub, OtherHubs } from "./rooms-elsewhere.ts";

export interface EventsElsewhereOptions {
  others: OtherHubs;
  /** Whether someone here watches all rooms, or one that has its home elsewhere. */
  watch: () => HubWideWatch;
  relay: (event: EventElsewhere) => void;
  /** For those who watch all rooms here. */
  comment: (text: string) => void;
  nowMs: () => number;
}

interface Reading {
  hub: OtherHub;
  isDetailed: boolean;
  abort: AbortController;
  /** ms: when it is opened again, after it ended */
  againMs: number | undefined;
  /** ms: since when there is no stream, or since that was said; undefined where there is one */
  awaySinceMs: number | undefined;
}

const againAfterMs = 250;
const names = new Set<string>([...EVENT_NAMES, ...DETAIL_EVENT_NAMES]);

/**
 * The events of the rooms of other hubs, while someone here watches them: one stream from each other hub, whatever
 * the number of watchers. Each room's order is kept.
 */
export class EventsElsewhere {
  readonly #options: EventsElsewhereOptions;
  readonly #readings = new Map<string, Reading>();

  constructor(options: EventsElsewhereOptions) {
    this.#options = options;
  }

  /** Four times a second, and when what is watched has changed. */
  tick(): void {
    const { others, watch: watchOf } = this.#options;
    const watch = watchOf();
    const hubs = watch === "none" ? [] : others.list();
    const isDetailed = watch === "detail";
    const keys = new Set(hubs.map(keyOf));
    for (const [key, reading] of this.#readings) {
      if (keys.has(key) && reading.isDetailed === isDetailed) this.#look(key, reading);
      else this.#stop(key, reading);
    }
    for (const hub of hubs) {
      if (!this.#readings.has(keyOf(hub))) this.#open(hub, isDetailed);
    }
  }

  close(): void {
    for (const [key, reading] of this.#readings) this.#stop(key, reading);
  }

  #look(key: string, reading: Reading): void {
    const { others, comment, nowMs } = this.#options;
    const { hub, awaySinceMs, againMs, isDetailed } = reading;
    if (awaySinceMs !== undefined && nowMs() - awaySinceMs > others.answerMs) {
      reading.awaySinceMs = undefined;
      comment(`unreachable ${hub.hubId} ${hub.advertiseUrl}`);
    }
    if (againMs === undefined || nowMs() < againMs) return;
    this.#stop(key, reading);
    this.#open(hub, isDetailed, reading.awaySinceMs);
  }

  #stop(key: string, { abort }: Reading): void {
    this.#readings.delete(key);
    abort.abort();
  }

  #open(hub: OtherHub, isDetailed: boolean, awaySinceMs?: number): void {
    const { others, nowMs } = this.#options;
    const abort = new AbortController();
    const reading: Reading = {
      ...{ hub, isDetailed, abort, againMs: undefined },
      awaySinceMs: awaySinceMs ?? nowMs(),
    };
    this.#readings.set(keyOf(hub), reading);
    const path = isDetailed ? "/v1/events?detail=1" : "/v1/events";
    others.get(hub, path, abort.signal).then(
      (response) => this.#read(reading, response),
      () => this.#ended(reading),
    );
  }

  #read(reading: Reading, response: IncomingMessage): void {
    reading.awaySinceMs = undefined;
    const reader = createSseReader(
      ({ data }) => this.#relay(data),
      () => undefined,
    );
    response.setEncoding("utf8");
    response.on("data", (text: string) => reader.feed(text));
    response.on("error", () => undefined);
    response.on("close", () => this.#ended(reading));
  }

  #ended(reading: Reading): void {
    const nowMs = this.#options.nowMs();
    reading.awaySinceMs ??= nowMs;
    reading.againMs = nowMs + againAfterMs;
  }

  #relay(data: string): void {
    const event = JSON.parse(data) as Record<string, unknown>;
    const { type, timestamp, roomCode, isHidden, ...payload } = event;
    if (typeof type !== "string" || !names.has(type)) return;
    if (typeof timestamp !== "string" || typeof roomCode !== "string") return;
    this.#options.relay({
      ...{ roomCode, timestamp, payload, isHidden: isHidden === true },
      name: type as EventName | DetailEventName,
    });
  }
}

function keyOf({ hubId, bootId }: OtherHub): string {
  return `${hubId} ${bootId}`;
}
