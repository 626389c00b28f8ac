import type { StreamMarker } from "@roomhub/protocol";
import { lastEventEnd } from "./event-boundary.ts";
import { eventData, FirstContent } from "./first-content.ts";
import { StreamTail } from "./stream-tail.ts";
import type { Usage } from "./usage.ts";

/** What a stream turned out to be, judged at its end or its failure. Contract §4, "Complete". */
export interface StreamVerdict {
  /** whole, if it ended cleanly */
  isComplete: boolean;
  /** `[DONE]` or a terminal event was seen: the answer is whole, however it ended */
  isOver: boolean;
  hasDone: boolean;
  /** The provider said in the stream that it failed, in its own words. */
  providerError: string | undefined;
  usage: Usage;
  /** for a Responses stream: the number the next event must have */
  nextSequenceNumber: number;
  /** for a Responses stream: the response object as first relayed, when it was */
  response: Record<string, unknown> | undefined;
  /** The last event that left was not closed: a blank line must come before anything else is said. */
  isMidEvent: boolean;
}

/**
 * Watches a stream of server-sent events pass. Bytes leave as they came and in the same order; only the unfinished end
 * of an event is held back, up to `maxHeldBytes`, so that an error frame can follow a whole one. Contract §4.
 *
 * Looks at few bytes: events are parsed until the first generated content, and from then on only {@link StreamTail} looks.
 */
export class StreamObserver {
  readonly #marker: StreamMarker;
  readonly #maxHeldBytes: number;
  readonly #forward: (bytes: Buffer) => void;
  readonly #firstContent: FirstContent;
  readonly #tail: StreamTail;
  #held: Buffer | undefined;
  #isMidEvent = false;

  /** @param forward - gets bytes for the client; may be called several times per push */
  constructor(marker: StreamMarker, maxHeldBytes: number, forward: (bytes: Buffer) => void) {
    this.#marker = marker;
    this.#maxHeldBytes = maxHeldBytes;
    this.#forward = forward;
    this.#firstContent = new FirstContent(marker);
    this.#tail = new StreamTail(marker);
  }

  /** ms of the first generated content, on the clock of `push`; undefined until there was any */
  get firstContentMs(): number | undefined {
    return this.#firstContent.atMs;
  }

  get heldBytes(): number {
    return this.#held?.length ?? 0;
  }

  /** Whether nothing of an unfinished event has left or is held: a comment may be put here. */
  get isBetweenEvents(): boolean {
    return !this.#isMidEvent && this.#held === undefined;
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
    if (!this.#isMidEvent) this.#tail.beginLongEvent();
    this.#isMidEvent = true;
    // Line ends stay back, so that a blank line cut in two is still recognised.
    const kept = trailingLineEnds(rest);
    this.#passPiece(rest.subarray(0, rest.length - kept), nowMs);
    if (kept > 0) this.#held = Buffer.from(rest.subarray(rest.length - kept));
  }

  /**
   * The provider ended cleanly. What was held belongs to the answer when only its blank line is missing; half an event
   * is dropped.
   */
  end(nowMs: number): StreamVerdict {
    const held = this.#held;
    this.#held = undefined;
    if (held !== undefined && (this.#isMidEvent || isWholeEvent(held))) {
      this.#passWhole(held, nowMs);
      this.#isMidEvent = true;
    }
    return this.#judge();
  }

  /** The stream broke. Held bytes of an unfinished event are dropped. */
  fail(): StreamVerdict {
    this.#held = undefined;
    return this.#judge();
  }

  #passWhole(bytes: Buffer, nowMs: number): void {
    this.#firstContent.seeWhole(bytes, nowMs);
    this.#tail.keep(bytes);
    if (this.#isMidEvent) this.#tail.endLongEvent();
    this.#forward(bytes);
  }

  #passPiece(bytes: Buffer, nowMs: number): void {
    if (bytes.length === 0) return;
    this.#firstContent.seePiece(bytes, nowMs);
    this.#tail.keep(bytes);
    this.#forward(bytes);
  }

  #judge(): StreamVerdict {
    const { hasDone, isFinished, usage, sequenceNumber, ...signs } = this.#tail.signs();
    const isResponses = this.#marker === "responses";
    // A Responses stream that failed in good order has a terminal event and says so there.
    const providerError = isResponses && isFinished ? undefined : signs.providerError;
    const isWhole = providerError === undefined;
    return {
      isComplete: isWhole && (hasDone || isFinished),
      isOver: isWhole && (hasDone || (isResponses && isFinished)),
      hasDone,
      providerError,
      usage,
      nextSequenceNumber: sequenceNumber + 1,
      response: this.#firstContent.response,
      isMidEvent: this.#isMidEvent,
    };
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

/** Whether nothing but the blank line is missing. Lines that carry no data are nobody's half. */
function isWholeEvent(bytes: Buffer): boolean {
  const text = bytes.toString("utf8");
  const data = eventData(`${text}\n\n`);
  return data.length === 0 ? !/^(?:data|event)/m.test(text) : data.every(isWholeData);
}

function isWholeData(data: string): boolean {
  if (data === "[DONE]") return true;
  try {
    JSON.parse(data);
    return true;
  } catch {
    return false; // cut in the middle
  }
}
