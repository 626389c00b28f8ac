import { CLOSE_CODES, outOfPlace, ProtocolError } from "../wire/close-code.ts";
import { FRAME_RULES, FRAME_TYPES, type FrameType } from "../wire/frame.ts";
import type { FrameWriter } from "../wire/frame-writer.ts";
import { type ResetCode, resetCodeFromWire } from "../wire/reset-code.ts";
import { StreamTable } from "./stream-table.ts";

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
  /** The tunnel closed. */
  lose(reason: string): void;
}

/** The streams of one tunnel, at either end: which one a frame is for, and whose turn it is to send. */
export class Streams<Stream extends TunnelStream> extends StreamTable<Stream> {
  /** the highest id that was used */
  lastId = 0;
  /** the stream that sent last, of those that had to wait */
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

  /** The tunnel closed. */
  lose(reason: string): void {
    for (const stream of this.values()) stream.lose(reason);
  }
}
