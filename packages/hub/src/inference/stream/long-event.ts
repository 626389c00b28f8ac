import { type StreamMarker, findUsage, type Usage } from "@roomhub/protocol";
import { JsonScanner, valueOf } from "../json/json-scan.ts";
import {
  errorIn,
  finishReason,
  isTerminal,
  lastSequenceNumber,
  noStatus,
  type StreamEvent,
  type StreamStatus,
  typeOf,
} from "./stream-status.ts";
import { WantedKeys, wantedKeys } from "../json/wanted-keys.ts";

const keptMembers = ["type", "error", "message"];
const wanted = new WantedKeys(wantedKeys(keptMembers, 8_192));
const scannerOptions = { wanted, maxDepth: 512 };
/** A line's name, and the whole of an `event` line, stand in its first bytes. */
const lineStartBytes = 64;
/** What is searched for in text is shorter than this, and may be cut by the pieces. */
const overlap = 4_096;
const lf = 0x0a;
const cr = 0x0d;
const lineFeed = Buffer.from("\n");

/**
 * Reads an event too long to be held, piece by piece. Its data is checked as JSON on the way, since half an event, or one
 * with noise in it, says nothing to a client. A terminal event is long when it carries a whole response.
 */
export class LongEvent {
  readonly #marker: StreamMarker;
  readonly #scanner = new JsonScanner(scannerOptions);
  #line: "start" | "data" | "other" = "start";
  #lineStart = "";
  #hasData = false;
  #name: string | undefined;
  #unread = "";
  #usage: Usage = {};
  #sequenceNumber = -1;
  #hasFinishReason = false;

  constructor(marker: StreamMarker) {
    this.#marker = marker;
  }

  /** The next piece of the event; the first begins where it begins. */
  push(bytes: Buffer): void {
    let from = 0;
    for (let at = nextLineEnd(bytes, 0); at < bytes.length; at = nextLineEnd(bytes, from)) {
      this.#inLine(bytes.subarray(from, at));
      this.#endLine();
      from = at + 1;
    }
    this.#inLine(bytes.subarray(from));
    this.#unread += bytes.toString("latin1");
    if (this.#unread.length >= 2 * overlap) this.#readText();
  }

  /** The event is whole. */
  status(): StreamStatus {
    this.#endLine();
    this.#readText();
    if (!this.#scanner.end()) return noStatus;
    const json = this.#members();
    const type = typeOf(json, this.#name);
    return {
      hasDone: false,
      isFinished: isTerminal(type, this.#hasFinishReason, this.#marker),
      providerError: errorIn(json, this.#name, this.#marker),
      usage: this.#usage,
      sequenceNumber: this.#sequenceNumber,
    };
  }

  #inLine(part: Buffer): void {
    if (part.length === 0 || this.#line === "other") return;
    if (this.#line === "data") {
      this.#scanner.push(part);
      return;
    }
    const missing = lineStartBytes - this.#lineStart.length;
    this.#lineStart += part.toString("latin1", 0, missing);
    if (part.length < missing) return;
    this.#beginLine();
    this.#inLine(part.subarray(missing));
  }

  /** Enough of a line is here to know what it is. */
  #beginLine(): void {
    const start = this.#lineStart;
    const field = /^data(?:: ?|$)/.exec(start)?.[0];
    this.#line = field === undefined ? "other" : "data";
    this.#name = /^event: ?(.*)$/.exec(start)?.[1] ?? this.#name;
    if (field === undefined) return;
    if (this.#hasData) this.#scanner.push(lineFeed);
    this.#hasData = true;
    this.#scanner.push(Buffer.from(start.slice(field.length), "latin1"));
  }

  #endLine(): void {
    if (this.#line === "start") this.#beginLine();
    this.#line = "start";
    this.#lineStart = "";
  }

  #readText(): void {
    const text = this.#unread;
    this.#usage = { ...this.#usage, ...findUsage(text) };
    if (this.#marker === "responses") {
      this.#sequenceNumber = Math.max(this.#sequenceNumber, lastSequenceNumber(text));
    } else {
      this.#hasFinishReason ||= finishReason.test(text);
    }
    this.#unread = text.slice(-overlap);
  }

  /** Those members of the event that say what it is; a long one as an empty object. */
  #members(): StreamEvent {
    const members: StreamEvent = {};
    for (const key of keptMembers) {
      const member = this.#scanner.last(key);
      if (member !== undefined) members[key] = member.raw === undefined ? {} : valueOf(member);
    }
    return members;
  }
}

function nextLineEnd(bytes: Buffer, from: number): number {
  const lineFeedAt = bytes.indexOf(lf, from);
  const end = lineFeedAt === -1 ? bytes.length : lineFeedAt;
  const returnAt = bytes.subarray(from, end).indexOf(cr);
  return returnAt === -1 ? end : from + returnAt;
}
