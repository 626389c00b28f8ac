import type { StreamMarker } from "@roomhub/protocol";
import { LongEvent } from "./long-event.ts";
import { mergeStatus, noStatus, readStatus, type StreamStatus } from "./stream-status.ts";

const halfBytes = 3_072;
/** A half begins small and grows: most of the streams that a hub holds at once are still short. */
const firstBytes = 512;
const noBytes = Buffer.alloc(0);
/** Finish, usage and `[DONE]`, or a terminal event and `[DONE]`: no stream says its end in more events than these. */
const lastEvents = 3;
const blankLines = {
  lf: Buffer.from("\n\n"),
  crlf: Buffer.from("\r\n\r\n"),
  cr: Buffer.from("\r\r"),
};

/**
 * Keeps the last few kilobytes of a stream and reads them once, at its end. (Parsing each event would cost more than all
 * the rest of the relay.) Longer batches are read as they pass, longer events piece by piece, since a terminal event
 * carries the whole response; an event too long to be held says nothing until it is whole.
 *
 * Kept in two halves that are filled in turn with whole events only, so that what is read begins where an event begins:
 * from the middle of a line, anything could pass for a line of its own.
 */
export class StreamTail {
  readonly #marker: StreamMarker;
  #older = noBytes;
  #olderLength = 0;
  #newer = noBytes;
  #newerLength = 0;
  /** at least so many events are in the newer half */
  #newerEvents = 0;
  /** from events that may have left the tail */
  #settled: StreamStatus = noStatus;
  #longEvent: LongEvent | undefined;

  constructor(marker: StreamMarker) {
    this.#marker = marker;
  }

  /** @param events - whole ones, one or more */
  keep(events: Buffer): void {
    if (events.length > halfBytes) {
      this.#keepMany(events);
      return;
    }
    if (this.#newerLength + events.length > halfBytes) this.#turnOver();
    this.#makeRoom(events.length);
    events.copy(this.#newer, this.#newerLength);
    this.#newerLength += events.length;
    this.#newerEvents++;
  }

  /** A piece of an event too long to be held, from its beginning on. */
  keepPiece(piece: Buffer): void {
    if (this.#longEvent === undefined) {
      this.#settle();
      this.#longEvent = new LongEvent(this.#marker);
    }
    this.#longEvent.push(piece);
  }

  /** That event is whole. */
  endLongEvent(): void {
    if (this.#longEvent === undefined) return;
    this.#settled = mergeStatus(this.#settled, this.#longEvent.status());
    this.#longEvent = undefined;
  }

  status(): StreamStatus {
    const older = readStatus(this.#older.subarray(0, this.#olderLength), this.#marker);
    const newer = readStatus(this.#newerBytes(), this.#marker);
    return mergeStatus(this.#settled, mergeStatus(older, newer));
  }

  #turnOver(): void {
    // With fewer events in the newer half, the older one may still hold one of the last.
    if (this.#newerEvents < lastEvents && startOfLastEvents(this.#newerBytes()) === undefined) {
      this.#settled = this.status();
    }
    [this.#older, this.#newer] = [this.#newer, this.#older];
    this.#olderLength = this.#newerLength;
    this.#newerLength = 0;
    this.#newerEvents = 0;
  }

  #keepMany(events: Buffer): void {
    const start = startOfLastEvents(events);
    if (start === undefined) {
      this.#settle();
      this.#settled = mergeStatus(this.#settled, readStatus(events, this.#marker));
      return;
    }
    this.#forget();
    this.#makeRoom(events.length - start);
    this.#newerLength = events.copy(this.#newer, 0, start);
    this.#newerEvents = lastEvents;
  }

  #makeRoom(bytes: number): void {
    const needed = this.#newerLength + bytes;
    if (needed <= this.#newer.length) return;
    const grown = Buffer.allocUnsafe(Math.min(halfBytes, Math.max(firstBytes, 2 * needed)));
    this.#newer.copy(grown, 0, 0, this.#newerLength);
    this.#newer = grown;
  }

  #settle(): void {
    this.#settled = this.status();
    this.#forget();
  }

  #forget(): void {
    this.#olderLength = 0;
    this.#newerLength = 0;
    this.#newerEvents = 0;
  }

  #newerBytes(): Buffer {
    return this.#newer.subarray(0, this.#newerLength);
  }
}

/**
 * Where those events begin that a half has room for.
 *
 * @returns undefined when the last few are not among them
 */
function startOfLastEvents(events: Buffer): number | undefined {
  const blankLine = blankLineAtEnd(events);
  if (blankLine === undefined) return undefined;
  const windowStart = Math.max(0, events.length - halfBytes - blankLine.length);
  const window = events.subarray(windowStart);
  let at = window.length - blankLine.length;
  for (let count = 0; count < lastEvents; count++) {
    at = window.lastIndexOf(blankLine, at - 1);
    if (at < 0) return undefined;
  }
  return windowStart + window.indexOf(blankLine) + blankLine.length;
}

/** The provider's own blank line: to look for each of the three would cost more than the rest. */
function blankLineAtEnd(events: Buffer): Buffer | undefined {
  const end = events.length;
  if (end < 4) return undefined;
  if (events[end - 1] === 0x0d) return blankLines.cr;
  return events[end - 2] === 0x0d ? blankLines.crlf : blankLines.lf;
}
