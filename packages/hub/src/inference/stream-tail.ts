import type { StreamMarker } from "@roomhub/protocol";
import { findUsage, type Usage } from "./usage.ts";

/** What the whole events of a stream so far say about its end. */
export interface StreamSigns {
  hasDone: boolean;
  /** a finish reason, or the terminal event of a Responses stream */
  isFinished: boolean;
  /** The provider said in the stream that it failed, in its own words. */
  providerError: string | undefined;
  usage: Usage;
  /** the last one; -1 when there was none */
  sequenceNumber: number;
}

const tailBytes = 3_072;
/** Finish, usage and `[DONE]`, or a terminal event and `[DONE]`: no stream says its end in more events than these. */
const lastEvents = 3;
const blankLines = ["\n\n", "\r\n\r\n", "\r\r"].map((line) => Buffer.from(line));

// Read in Latin-1, where no character of a text can pass for a line end.
const doneLine = /[\n\r]data: ?\[DONE\]/;
const dataLine = /[\n\r]data: ?(\{[^\n\r]*)/g;
const finishReason = /"finish_reason"\s*:\s*"/;
const terminalEvent =
  /[\n\r]event: ?response\.(?:completed|incomplete|failed)[\n\r]|"type"\s*:\s*"response\.(?:completed|incomplete|failed)"/;

/**
 * Keeps the last few kilobytes of a stream and reads them once, at its end. (Parsing each event would cost more than all
 * the rest of the relay.) Longer chunks and events are read as they pass, since a terminal event carries the whole
 * response; an event too long to be held says nothing until it is whole.
 */
export class StreamTail {
  readonly #marker: StreamMarker;
  readonly #bytes = Buffer.allocUnsafe(tailBytes * 2);
  #length = 0;
  #isCut = false;
  /** from events that may have left the tail */
  #settled: StreamSigns = noSigns;
  /** from the long event on its way */
  #pending: StreamSigns | undefined;

  constructor(marker: StreamMarker) {
    this.#marker = marker;
  }

  keep(bytes: Buffer): void {
    if (bytes.length >= tailBytes) {
      const isLong = this.#pending !== undefined || startOfLastEvents(bytes) < -tailBytes;
      if (isLong) this.#look(this.#text() + bytes.toString("latin1"));
      bytes.copy(this.#bytes, 0, bytes.length - tailBytes);
      this.#length = tailBytes;
      this.#isCut = true;
      return;
    }
    if (this.#length + bytes.length > this.#bytes.length) this.#compact();
    bytes.copy(this.#bytes, this.#length);
    this.#length += bytes.length;
  }

  /** What comes now are pieces of one event. */
  beginLongEvent(): void {
    this.#settled = this.signs();
    this.#pending = noSigns;
  }

  /** That event is whole. */
  endLongEvent(): void {
    if (this.#pending === undefined) return;
    this.#look(this.#text());
    this.#settled = merged(this.#settled, this.#pending);
    this.#pending = undefined;
  }

  signs(): StreamSigns {
    if (this.#pending !== undefined) return this.#settled;
    return merged(this.#settled, this.#read(this.#text()));
  }

  #compact(): void {
    if (this.#pending !== undefined) this.#look(this.#text());
    this.#bytes.copyWithin(0, this.#length - tailBytes, this.#length);
    this.#length = tailBytes;
    this.#isCut = true;
  }

  #look(text: string): void {
    const seen = this.#read(text);
    if (this.#pending === undefined) this.#settled = merged(this.#settled, seen);
    else this.#pending = merged(this.#pending, seen);
  }

  #read(text: string): StreamSigns {
    return {
      hasDone: doneLine.test(text),
      isFinished: (this.#marker === "responses" ? terminalEvent : finishReason).test(text),
      providerError: text.includes('"error"') ? errorIn(text, this.#marker) : undefined,
      usage: findUsage(text),
      sequenceNumber: this.#marker === "responses" ? lastSequenceNumber(text) : -1,
    };
  }

  /** Begins with a line end where a line begins. */
  #text(): string {
    const text = this.#bytes.toString("latin1", 0, this.#length);
    return this.#isCut ? text : `\n${text}`;
  }
}

const noSigns: StreamSigns = Object.freeze({
  hasDone: false,
  isFinished: false,
  providerError: undefined,
  usage: {},
  sequenceNumber: -1,
});

function merged(before: StreamSigns, after: StreamSigns): StreamSigns {
  return {
    hasDone: before.hasDone || after.hasDone,
    isFinished: before.isFinished || after.isFinished,
    providerError: after.providerError ?? before.providerError,
    usage: { ...before.usage, ...after.usage },
    sequenceNumber: Math.max(before.sequenceNumber, after.sequenceNumber),
  };
}

/** @returns how far before the end the last few events begin, as a negative offset; -Infinity when too far to search */
function startOfLastEvents(bytes: Buffer): number {
  const near = bytes.subarray(-2 * tailBytes);
  // The provider's own blank line: to look for all three would cost more than the rest.
  const blankLine = blankLines.find((line) => near.subarray(-line.length).equals(line));
  if (blankLine === undefined) return -Infinity;
  let start = near.length;
  for (let count = 0; count < lastEvents; count++) {
    const before = near.lastIndexOf(blankLine, start - blankLine.length - 1);
    if (before < 0) return bytes.length === near.length ? -near.length : -Infinity;
    start = before + blankLine.length;
  }
  return start - near.length;
}

/** A chat chunk with a top-level `error`, or a Responses event of type `error`. */
function errorIn(text: string, marker: StreamMarker): string | undefined {
  for (const [, line = ""] of text.matchAll(dataLine)) {
    if (!line.includes('"error"')) continue;
    const message = errorMessage(Buffer.from(line, "latin1").toString("utf8"), marker);
    if (message !== undefined) return message;
  }
  return undefined;
}

function errorMessage(json: string, marker: StreamMarker): string | undefined {
  let event: { type?: unknown; error?: unknown; message?: unknown };
  try {
    event = JSON.parse(json) as typeof event;
  } catch {
    return undefined; // cut by the tail's beginning, or a provider's noise
  }
  const isErrorEvent = marker === "responses" && event.type === "error";
  const { error } = event;
  const hasError = typeof error === "string" ? error !== "" : typeof error === "object" && error;
  if (!isErrorEvent && !(hasError && event.type === undefined)) return undefined;
  if (typeof error === "string") return error;
  const message = (error as { message?: unknown } | null | undefined)?.message ?? event.message;
  return typeof message === "string" ? message : "The provider reported an error in the stream.";
}

function lastSequenceNumber(text: string): number {
  const at = text.lastIndexOf('"sequence_number"');
  const digits = /^"sequence_number"\s*:\s*(\d{1,15})/.exec(text.slice(at, at + 50))?.[1];
  return at < 0 || digits === undefined ? -1 : Number(digits);
}
