import { mergeUsage, parseJson, type StreamMarker } from "@roomhub/protocol";
import { firstEventEnd, lastEventEnd } from "./event-boundary.ts";
import { editEvents, mayNeedEdits, noEdits, type StreamEdits } from "./event-edits.ts";
import { eventData, FirstContent } from "./first-content.ts";
import type { StreamStatus } from "./stream-status.ts";
import { StreamTail } from "./stream-tail.ts";

/**
 * Sees the data of a stream's first event before it passes; undefined for an event too long to be held.
 *
 * @returns the data that passes; undefined when the stream ends here, and neither this event nor anything after it passes
 */
export type FirstEvent = (data: string | undefined) => string | undefined;

/** What a stream turned out to be, judged at its end or its failure. Contract §4, "Complete". */
export interface StreamVerdict extends Pick<StreamStatus, "hasDone" | "providerError" | "usage"> {
  /** whole, if it ended cleanly */
  isComplete: boolean;
  /** `[DONE]` or a terminal event was seen (not a mere finish reason): the response is complete, however its path ended */
  isOver: boolean;
  /** for a Responses stream: the number the next event must have */
  nextSequenceNumber: number;
  /** for a Responses stream: the response object as first relayed, when it was */
  response: Record<string, unknown> | undefined;
  /** The last event that left was not closed: a blank line must come before anything else is written. */
  isMidEvent: boolean;
}

/**
 * Watches a stream of server-sent events pass. Bytes leave as they came and in the same order; only the unfinished end
 * of an event is held back, up to `maxHeldBytes`, so that an error frame can follow a whole one. Contract §4.
 *
 * Looks at few bytes: events are parsed until the first generated content, and from then on only {@link StreamTail} looks.
 * {@link StreamEdits} are made in whole events; one longer than the hold has left before it was whole, and passes as it is.
 */
export class StreamObserver {
  readonly #marker: StreamMarker;
  readonly #maxHeldBytes: number;
  readonly #forward: (bytes: Buffer) => void;
  readonly #edits: StreamEdits | undefined;
  readonly #firstContent: FirstContent;
  readonly #tail: StreamTail;
  #held: Buffer | undefined;
  #isMidEvent = false;
  /** until the first event was seen */
  #onFirstEvent: FirstEvent | undefined;
  #isRefused = false;

  /** @param forward - gets bytes for the client; may be called several times per push */
  constructor(
    marker: StreamMarker,
    maxHeldBytes: number,
    forward: (bytes: Buffer) => void,
    edits: StreamEdits = noEdits,
    onFirstEvent?: FirstEvent,
  ) {
    this.#onFirstEvent = onFirstEvent;
    this.#marker = marker;
    this.#maxHeldBytes = maxHeldBytes;
    this.#forward = forward;
    this.#edits = edits.hidesUsage || edits.scrub !== undefined ? edits : undefined;
    this.#firstContent = new FirstContent(marker);
    this.#tail = new StreamTail(marker);
  }

  /** ms of the first generated content, on the clock of `push`; undefined until there was any */
  get firstContentMs(): number | undefined {
    return this.#firstContent.atMs;
  }

  /** of a Responses stream, by which a client may name it later; known once its first event was seen */
  get responseId(): string | undefined {
    return this.#firstContent.responseId;
  }

  get heldBytes(): number {
    return this.#held?.length ?? 0;
  }

  /** Whether nothing of an unfinished event has left: a comment may be put here, ahead of what is held. */
  get isBetweenEvents(): boolean {
    return !this.#isMidEvent;
  }

  push(chunk: Buffer, nowMs: number): void {
    const held = this.#held;
    const bytes = held === undefined ? chunk : Buffer.concat([held, chunk]);
    this.#held = undefined;
    const end = lastEventEnd(bytes, held?.length ?? 0);
    if (end > 0) {
      this.#passWhole(end === bytes.length ? bytes : bytes.subarray(0, end), nowMs);
      this.#isMidEvent = false;
    }
    if (end === bytes.length) return;
    const rest = end === 0 ? bytes : bytes.subarray(end);
    if (!this.#isMidEvent && rest.length <= this.#maxHeldBytes) {
      // A copy: the chunk is a window into a buffer that is not ours.
      this.#held = Buffer.from(rest);
      return;
    }
    this.#isMidEvent = true;
    // Line ends stay back, so that a blank line cut in two is still recognised.
    const kept = trailingLineEnds(rest);
    this.#passPiece(rest.subarray(0, rest.length - kept), nowMs);
    if (kept > 0) this.#held = Buffer.from(rest.subarray(rest.length - kept));
  }

  /**
   * The provider ended cleanly. What was held belongs to the response when only its blank line is missing; half an event
   * is dropped.
   */
  end(nowMs: number): StreamVerdict {
    const held = this.#held;
    this.#held = undefined;
    if (held !== undefined && (this.#isMidEvent || isWholeEvent(held))) {
      this.#isMidEvent = this.#passWhole(held, nowMs);
    }
    return this.#judge();
  }

  /** The stream broke. Held bytes of an unfinished event are dropped. */
  fail(): StreamVerdict {
    this.#held = undefined;
    return this.#judge();
  }

  /** @returns whether any of it left */
  #passWhole(whole: Buffer, nowMs: number): boolean {
    const first = this.#onFirstEvent;
    const bytes = first === undefined ? whole : this.#seeFirst(whole, first);
    if (this.#isRefused) return false;
    this.#firstContent.seeWhole(bytes, nowMs);
    if (!this.#isMidEvent) return this.#passEvents(bytes);
    // At the stream's end its blank line may be missing.
    const end = firstEventEnd(bytes) || bytes.length;
    this.#endLongEvent(bytes.subarray(0, end));
    if (end < bytes.length) this.#passEvents(bytes.subarray(end));
    return true;
  }

  #seeFirst(bytes: Buffer, onFirstEvent: FirstEvent): Buffer {
    const text = bytes.toString("utf8");
    const [data] = eventData(text);
    // A comment may come before it.
    if (data === undefined) return bytes;
    this.#onFirstEvent = undefined;
    const passing = onFirstEvent(data);
    this.#isRefused = passing === undefined;
    if (passing === undefined || passing === data) return bytes;
    return Buffer.from(text.replace(data, () => passing));
  }

  #endLongEvent(rest: Buffer): void {
    this.#tail.keepPiece(rest);
    this.#tail.endLongEvent();
    this.#forward(rest);
  }

  #passEvents(events: Buffer): boolean {
    this.#tail.keep(events);
    if (this.#edits === undefined || !mayNeedEdits(events, this.#edits)) {
      this.#forward(events);
      return true;
    }
    const parts = editEvents(events, this.#marker, this.#edits);
    for (const part of parts) this.#forward(part);
    return parts.length > 0;
  }

  #passPiece(bytes: Buffer, nowMs: number): void {
    if (bytes.length === 0) return;
    this.#onFirstEvent?.(undefined);
    this.#onFirstEvent = undefined;
    this.#firstContent.seePiece(bytes, nowMs);
    this.#tail.keepPiece(bytes);
    this.#forward(bytes);
  }

  /** See {@link StreamVerdict}; as far as it has come. */
  get isOver(): boolean {
    return this.#judge().isOver;
  }

  #judge(): StreamVerdict {
    const { hasDone, isFinished, providerError, usage, sequenceNumber } = this.#tail.status();
    const isWhole = providerError === undefined;
    return {
      isComplete: isWhole && (hasDone || isFinished),
      isOver: isWhole && (hasDone || (isFinished && isFinishTheEnd(this.#marker))),
      hasDone,
      providerError,
      usage: this.#marker === "messages" ? mergeUsage(this.#firstContent.usage, usage) : usage,
      nextSequenceNumber: sequenceNumber + 1,
      response: this.#firstContent.response,
      isMidEvent: this.#isMidEvent,
    };
  }
}

/** Behind a chat's finish reason its usage may still be to come. */
function isFinishTheEnd(marker: StreamMarker): boolean {
  switch (marker) {
    case "chat":
    case "none":
    // Several pictures have a terminal event each.
    case "media":
      return false;
    case "responses":
    case "messages":
      return true;
  }
}

function trailingLineEnds(bytes: Buffer): number {
  let count = 0;
  while (count < 3 && count < bytes.length) {
    const byte = bytes[bytes.length - 1 - count];
    if (byte !== 0x0a && byte !== 0x0d) break;
    count++;
  }
  return count;
}

/** Whether nothing but the blank line is missing. Lines that carry no data complete nothing. */
function isWholeEvent(bytes: Buffer): boolean {
  const text = bytes.toString("utf8");
  const data = eventData(`${text}\n\n`);
  return data.length === 0 ? !/^(?:data|event)/m.test(text) : data.every(isWholeData);
}

function isWholeData(data: string): boolean {
  return data === "[DONE]" || parseJson(data) !== undefined;
}
