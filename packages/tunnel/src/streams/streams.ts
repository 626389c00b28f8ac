import { CLOSE_CODES, outOfPlace, ProtocolError } from "../wire/close-code.ts";
import { FRAME_RULES, FRAME_TYPES, type FrameType } from "../wire/frame.ts";
import type { FrameWriter } from "../wire/frame-writer.ts";
import { type ResetCode, resetCodeFromWire } from "../wire/reset-code.ts";

/** A correct end sends at most what was in flight when its stream ended; 10,000 in a second is abuse. */
const MAX_STRAYS_PER_TICK = 10_000;

/** One request, at either end. */
export interface TunnelStream {
  readonly id: number;
  receiveData(chunk: Buffer): void;
  receiveEnd(): void;
  receiveWindow(bytes: number): void;
  receiveReset(code: ResetCode, reason: string): void;
  /** Sends what waits, in at most so many frames. @returns whether more could be sent at once */
  sendMore(maxFrames?: number): boolean;
  /** The tunnel closed. @param code - `tunnelLost` or `unread` */
  lose(code: ResetCode, reason: string): void;
}

const FIRST_SLOTS = 16;
/** A table that grew beyond this is freed with its last stream. */
const MAX_IDLE_SLOTS = 1_024;

/**
 * The streams of one tunnel by their id.
 *
 * Not a `Map`: V8 links each outgrown table of a map to the next one, and once one of them is in the old generation every
 * former stream stays alive until the next full collection. Here a slot is reused as soon as it is free.
 *
 * Ids are consecutive and rarely collide: an open-addressed table with the id as hash, linear probing and no tombstones.
 */
export class StreamTable<Stream extends { readonly id: number }> {
  #slots: (Stream | undefined)[] = [];
  #mask = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(id: number): Stream | undefined {
    return this.#slots[this.#slotOf(id)];
  }

  /** @param stream - with an id that is not in the table */
  add(stream: Stream): void {
    // At most half full, so that a search soon ends at a free slot.
    if (this.#size * 2 >= this.#slots.length)
      this.#resize(Math.max(FIRST_SLOTS, this.#slots.length * 2));
    this.#slots[this.#slotOf(stream.id)] = stream;
    this.#size += 1;
  }

  /** Does nothing for an unknown id. */
  delete(id: number): void {
    const slot = this.#slotOf(id);
    if (this.#slots[slot] === undefined) return;
    this.#slots[slot] = undefined;
    this.#size -= 1;
    if (this.#size === 0 && this.#slots.length > MAX_IDLE_SLOTS) this.#resize(0);
    else this.#fill(slot);
  }

  /** A copy: streams may be added and removed while it is read. */
  values(): Stream[] {
    return this.#slots.filter((stream) => stream !== undefined);
  }

  /** Moves streams up into the freed slot, or a search would stop before it finds them. */
  #fill(freed: number): void {
    let free = freed;
    let slot = (free + 1) & this.#mask;
    for (let next = this.#slots[slot]; next !== undefined; next = this.#slots[slot]) {
      const home = next.id & this.#mask;
      if (((slot - home) & this.#mask) >= ((slot - free) & this.#mask)) {
        this.#slots[free] = next;
        this.#slots[slot] = undefined;
        free = slot;
      }
      slot = (slot + 1) & this.#mask;
    }
  }

  /** The slot of this stream, or the free slot where it belongs. */
  #slotOf(id: number): number {
    let slot = id & this.#mask;
    for (;;) {
      const stream = this.#slots[slot];
      if (stream === undefined || stream.id === id) return slot;
      slot = (slot + 1) & this.#mask;
    }
  }

  /** @param count - a power of two, or 0 */
  #resize(count: number): void {
    const streams = this.values();
    this.#slots = Array.from({ length: count });
    this.#mask = Math.max(0, count - 1);
    for (const stream of streams) this.#slots[this.#slotOf(stream.id)] = stream;
  }
}

/** The streams of one tunnel, at either end: which one a frame is for, and whose turn it is to send. */
export class Streams<Stream extends TunnelStream> extends StreamTable<Stream> {
  /** the highest id that was used */
  lastId = 0;
  /** of the waiting streams, the last one that sent */
  #lastTurnId = 0;
  #lateFrames = 0;
  #refusals = 0;

  /** Called about once a second. */
  tick(): void {
    this.#lateFrames = 0;
    this.#refusals = 0;
  }

  /** @param isResent - the stream may have ended while the tunnel was interrupted */
  receive(type: FrameType, streamId: number, payload: Buffer, isResent: boolean): void {
    const stream = this.find(type, streamId, isResent);
    if (stream === undefined) return;
    switch (type) {
      case FRAME_TYPES.data:
        return stream.receiveData(payload);
      case FRAME_TYPES.end:
        return stream.receiveEnd();
      case FRAME_TYPES.window:
        return stream.receiveWindow(payload.readUInt32BE(0));
      case FRAME_TYPES.reset:
        return stream.receiveReset(
          resetCodeFromWire(payload.readUInt8(0)),
          payload.toString("utf8", 1),
        );
      default:
        throw outOfPlace(type, "on a stream");
    }
  }

  /**
   * The stream that a frame is for.
   *
   * @returns undefined for one that has ended: its late frames are ignored
   * @throws {ProtocolError} 4005 for one that was never opened, 4008 for a flood of late frames
   */
  find(type: FrameType, streamId: number, isResent: boolean): Stream | undefined {
    const stream = this.get(streamId);
    if (stream !== undefined) return stream;
    if (streamId > this.lastId) {
      const what = `${FRAME_RULES[type].name} for stream ${streamId}`;
      throw new ProtocolError(CLOSE_CODES.unknownStream, what);
    }
    if (!isResent) this.#lateFrames += 1;
    if (this.#lateFrames <= MAX_STRAYS_PER_TICK) return undefined;
    throw new ProtocolError(CLOSE_CODES.abuse, "flood of frames for finished streams");
  }

  /**
   * A stream is refused because this end is at capacity: the other end may exceed the limit while it does not wait for a
   * confirmed RESET.
   *
   * @throws {ProtocolError} 4006 for a flood
   */
  countRefusal(): void {
    this.#refusals += 1;
    if (this.#refusals <= MAX_STRAYS_PER_TICK) return;
    throw new ProtocolError(CLOSE_CODES.tooManyStreams, "flood of streams over the limit");
  }

  /** Sends what waited for room: one frame of each stream in turn, beginning behind the stream that was last. */
  sendInTurns(writer: Pick<FrameWriter, "isHeld">): void {
    const inOrder = this.values().toSorted((one, other) => one.id - other.id);
    let turn = [
      ...inOrder.filter(({ id }) => id > this.#lastTurnId),
      ...inOrder.filter(({ id }) => id <= this.#lastTurnId),
    ];
    while (turn.length > 0) {
      const next: Stream[] = [];
      for (const stream of turn) {
        if (writer.isHeld) return;
        this.#lastTurnId = stream.id;
        if (stream.sendMore(1)) next.push(stream);
      }
      turn = next;
    }
  }

  /** The tunnel closed. @param code - `tunnelLost` or `unread` */
  lose(code: ResetCode, reason: string): void {
    for (const stream of this.values()) stream.lose(code, reason);
  }
}
