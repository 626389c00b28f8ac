import type { StreamMarker } from "@roomhub/protocol";
import { lastEventEnd } from "./event-boundary.ts";
import { eventData, hasContent } from "./first-content.ts";
import { findUsage, type Usage } from "./usage.ts";

/** What a stream turned out to be, judged at its end or its failure. */
export interface StreamVerdict {
  /** A terminal marker was seen: whatever happens now, the answer is whole. Contract §4. */
  isComplete: boolean;
  hasDone: boolean;
  /** The provider said in the stream that it failed, in its own words. */
  providerError: string | undefined;
  usage: Usage;
  /** for a Responses stream: the number the next event must have */
  nextSequenceNumber: number;
  /** for a Responses stream: the response object as first relayed, when it was */
  response: Record<string, unknown> | undefined;
  /** Part of an unfinished event left: a blank line must close it before anything else is said. */
  isMidEvent: boolean;
}

const tailBytes = 3_072;
const doneLine = /^data: ?\[DONE\]/m;
const finishReason = /"finish_reason"\s*:\s*"/;
const terminalEvent =
  /^event: ?response\.(?:completed|incomplete|failed)|"type"\s*:\s*"response\.(?:completed|incomplete|failed)"/m;
const chatError = /^data: ?(\{\s*"error"\s*:\s*[{"].*)$/m;
const sequenceNumbers = /"sequence_number"\s*:\s*(\d+)/g;

/**
 * Watches a stream of server-sent events pass. Bytes leave as they came and in the same order; only the unfinished end
 * of an event is held back, up to `maxHeldBytes`, so that an error frame can follow a whole one. Contract §4.
 *
 * Looks at few bytes: events are parsed until the first generated content, and from then on the last 3 KiB are kept and
 * read once at the end. (`JSON.parse` of each event would cost more than all the rest of the relay.)
 */
export class StreamObserver {
  readonly #marker: StreamMarker;
  readonly #maxHeldBytes: number;
  readonly #forward: (bytes: Buffer) => void;
  #held: Buffer | undefined;
  #isMidEvent = false;
  #firstContentMs: number | undefined;
  #response: Record<string, unknown> | undefined;
  #sawLongTerminal = false;
  #longUsage: Usage = {};
  readonly #tail = Buffer.allocUnsafe(tailBytes * 2);
  #tailLength = 0;

  /** @param forward - gets bytes for the client; may be called several times per push */
  constructor(marker: StreamMarker, maxHeldBytes: number, forward: (bytes: Buffer) => void) {
    this.#marker = marker;
    this.#maxHeldBytes = maxHeldBytes;
    this.#forward = forward;
  }

  /** ms of the first generated content, on the clock of `push`; undefined until there was any */
  get firstContentMs(): number | undefined {
    return this.#firstContentMs;
  }

  /** Whether nothing of an unfinished event has left or is held: a comment may be put here. */
  get isBetweenEvents(): boolean {
    return !this.#isMidEvent && this.#held === undefined;
  }

  push(chunk: Buffer, nowMs: number): void {
    const bytes = this.#held === undefined ? chunk : Buffer.concat([this.#held, chunk]);
    this.#held = undefined;
    const end = lastEventEnd(bytes);
    if (end > 0) {
      this.#pass(end === bytes.length ? bytes : bytes.subarray(0, end), nowMs);
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
    this.#pass(rest.subarray(0, rest.length - kept), nowMs);
    if (kept > 0) this.#held = Buffer.from(rest.subarray(rest.length - kept));
  }

  /** The provider ended cleanly: what was held belongs to the answer. */
  end(nowMs: number): StreamVerdict {
    const held = this.#held;
    this.#held = undefined;
    if (held !== undefined) {
      this.#pass(held, nowMs);
      this.#isMidEvent = true;
    }
    return this.#judge();
  }

  /** The stream broke. Held bytes of an unfinished event are dropped. */
  fail(): StreamVerdict {
    this.#held = undefined;
    return this.#judge();
  }

  #pass(bytes: Buffer, nowMs: number): void {
    if (bytes.length === 0) return;
    if (this.#firstContentMs === undefined) this.#lookForContent(bytes, nowMs);
    this.#keepTail(bytes);
    this.#forward(bytes);
  }

  #lookForContent(bytes: Buffer, nowMs: number): void {
    if (this.#isMidEvent) {
      this.#firstContentMs = nowMs; // longer than any empty event
      return;
    }
    for (const data of eventData(bytes.toString("utf8"))) {
      if (this.#marker === "responses") this.#response ??= responseIn(data);
      if (hasContent(data, this.#marker)) this.#firstContentMs ??= nowMs;
    }
  }

  #keepTail(bytes: Buffer): void {
    if (bytes.length >= tailBytes) {
      if (this.#marker === "responses") this.#lookForTerminal(bytes.toString("utf8"));
      bytes.copy(this.#tail, 0, bytes.length - tailBytes);
      this.#tailLength = tailBytes;
      return;
    }
    if (this.#tailLength + bytes.length > this.#tail.length) {
      this.#tail.copyWithin(0, this.#tailLength - tailBytes, this.#tailLength);
      this.#tailLength = tailBytes;
    }
    bytes.copy(this.#tail, this.#tailLength);
    this.#tailLength += bytes.length;
  }

  /** A terminal event carries the whole response and may be longer than the tail. */
  #lookForTerminal(text: string): void {
    if (!terminalEvent.test(text)) return;
    this.#sawLongTerminal = true;
    this.#longUsage = findUsage(text);
  }

  #judge(): StreamVerdict {
    const tail = this.#tail.toString("utf8", 0, this.#tailLength);
    const hasDone = doneLine.test(tail);
    const isFinished =
      this.#marker === "responses"
        ? this.#sawLongTerminal || terminalEvent.test(tail)
        : finishReason.test(tail);
    const errorText =
      this.#marker === "chat" && !isFinished ? chatError.exec(tail)?.[1] : undefined;
    return {
      isComplete: errorText === undefined && (hasDone || isFinished),
      hasDone,
      providerError: errorText === undefined ? undefined : errorMessage(errorText),
      usage: { ...this.#longUsage, ...findUsage(tail) },
      nextSequenceNumber: lastSequenceNumber(tail) + 1,
      response: this.#response,
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

function responseIn(data: string): Record<string, unknown> | undefined {
  try {
    const event = JSON.parse(data) as { type?: unknown; response?: unknown };
    if (event.type !== "response.created" && event.type !== "response.in_progress")
      return undefined;
    return typeof event.response === "object" && event.response !== null
      ? (event.response as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined; // not JSON: a provider's noise passes, it is not ours to judge
  }
}

function lastSequenceNumber(tail: string): number {
  let last = -1;
  for (const match of tail.matchAll(sequenceNumbers)) last = Number(match[1]);
  return last;
}

function errorMessage(json: string): string {
  try {
    const { error } = JSON.parse(json) as { error?: unknown };
    if (typeof error === "string") return error;
    const message = (error as { message?: unknown } | null)?.message;
    return typeof message === "string" ? message : "The provider reported an error in the stream.";
  } catch {
    return "The provider reported an error in the stream.";
  }
}
