import {
  encodeSseComment,
  encodeSseRetry,
  type EventSpelling,
  type Limits,
} from "@roomhub/protocol";
import type { ServerResponse } from "node:http";
import type { Access } from "../operations/context.ts";
import type { Subscriber } from "../events/audience.ts";
import type { EventBus } from "../events/bus.ts";
import { HubError } from "../errors.ts";

const reconnectAfterMs = 2_000;

interface EventStreamOptions {
  /** undefined for the hub-wide stream */
  roomCode: string | undefined;
  /** to that room; the stream ends with it */
  access?: Access | undefined;
  spelling: EventSpelling;
  /** It shows running requests too. */
  isDetailed: boolean;
  /** Another hub reads it, for its own watchers of all rooms. */
  isForHub?: boolean;
}

type StreamLimits = Pick<Limits, "subscribersPerRoom" | "subscriberBufferBytes" | "eventCommentMs">;

/** All subscribers of this hub's events. Contract §5. */
export class EventStreams {
  readonly #bus: EventBus;
  readonly #limits: StreamLimits;
  readonly #nowMs: () => number;
  readonly #wallMs: () => number;
  readonly #streams = new Set<EventStream>();
  readonly #hubWide = new Set<EventStream>();

  constructor(bus: EventBus, limits: StreamLimits, nowMs: () => number, wallMs: () => number) {
    this.#bus = bus;
    this.#wallMs = wallMs;
    this.#limits = limits;
    this.#nowMs = nowMs;
  }

  /**
   * Turns a response into an event stream.
   *
   * @param onOpen - the stream is open, and only its greeting was sent
   * @throws HubError `too_many_subscribers`
   */
  open(
    response: ServerResponse,
    { roomCode, access, spelling, isDetailed, isForHub = false }: EventStreamOptions,
    onOpen: (subscriber: Subscriber) => void,
  ): void {
    const isFull = this.#bus.subscriberCount(roomCode) >= this.#limits.subscribersPerRoom;
    if (isFull && !isForHub) {
      throw new HubError(
        "too_many_subscribers",
        `${this.#limits.subscribersPerRoom} clients already subscribe to these events.`,
        { hint: "Close one of them; the host can raise ROOMHUB_SUBSCRIBERS_PER_ROOM." },
      );
    }
    response.cork();
    response.writeHead(200, {
      "content-type": "text/event-stream",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
      "x-content-type-options": "nosniff",
    });
    const maxBufferedBytes = this.#limits.subscriberBufferBytes;
    const stream = new EventStream(response, {
      ...{ access, spelling, isDetailed, maxBufferedBytes, nowMs: this.#nowMs },
    });
    stream.write(encodeSseRetry(reconnectAfterMs) + encodeSseComment("roomhub events"));
    this.#streams.add(stream);
    const unsubscribe = isForHub
      ? this.#bus.subscribeHub(stream)
      : this.#bus.subscribe(roomCode, stream);
    if (roomCode === undefined && !isForHub) this.#hubWide.add(stream);
    response.on("close", () => {
      this.#streams.delete(stream);
      this.#hubWide.delete(stream);
      unsubscribe();
    });
    response.on("error", () => response.destroy());
    onOpen(stream);
    response.uncork();
  }

  /** Sends a comment to all watchers of the whole hub. */
  comment(text: string): void {
    const comment = encodeSseComment(text);
    for (const stream of this.#hubWide) stream.write(comment);
  }

  /** Sends comments on quiet streams, so that no proxy closes them as idle, and ends those whose access has ended. */
  tick(): void {
    const wallMs = this.#wallMs();
    const quietSinceMs = this.#nowMs() - this.#limits.eventCommentMs;
    const comment = encodeSseComment("quiet");
    for (const stream of this.#streams) {
      if (stream.endWithAccess(wallMs)) continue;
      if (stream.lastWriteMs <= quietSinceMs) stream.write(comment);
    }
  }
}

interface StreamOptions extends Pick<EventStreamOptions, "access" | "spelling" | "isDetailed"> {
  maxBufferedBytes: number;
  nowMs: () => number;
}

class EventStream implements Subscriber {
  readonly spelling: EventSpelling;
  readonly isDetailed: boolean;
  readonly #response: ServerResponse;
  readonly #options: StreamOptions;
  lastWriteMs = 0;

  constructor(response: ServerResponse, options: StreamOptions) {
    this.#response = response;
    this.#options = options;
    this.spelling = options.spelling;
    this.isDetailed = options.isDetailed;
  }

  deliver(wire: Buffer): void {
    this.write(wire);
  }

  write(wire: Buffer | string): void {
    if (this.#response.destroyed || this.#response.writableEnded) return;
    this.lastWriteMs = this.#options.nowMs();
    this.#response.write(wire);
    // A subscriber that does not read must not cost the hub its memory. Contract §6.
    if (this.#response.writableLength > this.#options.maxBufferedBytes) this.#response.destroy();
  }

  /** @param wallMs - epoch ms @returns whether it ended */
  endWithAccess(wallMs: number): boolean {
    const refusal = this.#options.access?.refusal(wallMs);
    if (refusal === undefined) return false;
    this.write(encodeSseComment(refusal.code));
    this.#response.end();
    return true;
  }

  end(retryMs: number): void {
    this.write(encodeSseRetry(retryMs));
    this.#response.end();
  }
}
