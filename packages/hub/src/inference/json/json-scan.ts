import { EncodedStrings } from "./encoded-strings.ts";
import {
  beforeNumber,
  isDigit,
  isWholeNumber,
  nextOfNumber,
  notInNumber,
  type NumberState,
  takesDigits,
} from "./json-number.ts";
import { endOfPlain, isEscapedAt, isHex, isSimpleEscape, nextQuote } from "./json-string.ts";
import type { WantedKey, WantedKeys } from "./wanted-keys.ts";

/** Why bytes are not the JSON we take. */
export interface JsonProblem {
  kind: "syntax" | "depth" | "repetition";
  /** position in the whole text */
  offset: number;
}

/** A member of the outermost object. Offsets are of its value in the whole text. */
export interface JsonMember {
  key: string;
  start: number;
  end: number;
  /** of these, in `data:` URLs and base64; counted of a value that is not kept */
  encodedBytes: number;
  /** the value's bytes, each as one character (Latin-1); undefined when they are more than are kept */
  raw: string | undefined;
}

/** What a member's value says; undefined when it was too long to be kept. */
export function valueOf({ raw }: JsonMember): unknown {
  if (raw === undefined) return undefined;
  return isPlainText.test(raw) ? raw.slice(1, -1) : JSON.parse(decoded(raw));
}

/** What most models and ids are: a text without escapes. */
const isPlainText = /^"[ !#-[\]-~]*"$/;

/** @param text - bytes of UTF-8, each as one character */
function decoded(text: string): string {
  // Of the same length as UTF-8 is only ASCII, where nothing has to be decoded.
  if (Buffer.byteLength(text) === text.length) return text;
  return Buffer.from(text, "latin1").toString("utf8");
}

export interface JsonScannerOptions {
  /** keys of the outermost object to report */
  wanted: WantedKeys;
  maxDepth: number;
}

const states = Object.freeze({
  value: 0,
  firstKey: 1,
  key: 2,
  colon: 3,
  afterValue: 4,
  firstElement: 5,
  string: 6,
  escape: 7,
  unicode: 8,
  number: 9,
  literal: 10,
  end: 11,
  unread: 12,
});
type State = (typeof states)[keyof typeof states];

const literals: Record<number, string> = { 0x74: "true", 0x66: "false", 0x6e: "null" };
/** A wanted key may be written with every letter escaped: 6 bytes each. */
const maxKeyBytes = 40 * 6;
/** Each wanted member costs some hundred bytes of memory, and only repetition makes many of them. */
export const maxMembers = 256;

/**
 * Checks JSON as its bytes arrive, in any cut, and notes where members of the outermost object stand. Builds nothing,
 * recurses nowhere, and looks at each byte once, so that a body of many megabytes never holds up the event loop.
 * RFC 8259; a text must be one object or array. Of a string in a value that is not kept only the end is found: escapes,
 * control characters and UTF-8 in it are for its reader to judge.
 */
export class JsonScanner {
  readonly members: JsonMember[] = [];
  /** offset behind the outermost `{`; undefined when the text is an array */
  bodyStart: number | undefined;
  problem: JsonProblem | undefined;

  readonly #options: JsonScannerOptions;
  /** by depth; a plain array grows as deep as the text really is */
  readonly #isObject: boolean[] = [false];
  #depth = 0;
  #state: State = states.value;
  #position = 0;
  #isKey = false;
  /** where the key's text continues in this chunk; -1 when it is not read */
  #keyStart = -1;
  /** the key's text from chunks before */
  #keyText = "";
  #isKeyEscaped = false;
  #key: WantedKey | undefined;
  #valueStart = -1;
  #captured = "";
  readonly #encoded = new EncodedStrings();
  /** the next byte of an unread string is escaped */
  #isEscaped = false;
  #literal = "";
  #literalIndex = 0;
  #hexLeft = 0;
  #number: NumberState = beforeNumber;

  constructor(options: JsonScannerOptions) {
    this.#options = options;
  }

  /** @returns false once the text cannot become right any more; `problem` says why */
  push(chunk: Buffer): boolean {
    if (this.problem !== undefined) return false;
    const base = this.#position;
    let index = 0;
    while (index < chunk.length) {
      index = this.#step(chunk, index);
      if (this.problem !== undefined) return false;
    }
    if (this.#key !== undefined && this.#valueStart >= 0) {
      this.#capture(this.#key, chunk, chunk.length);
    }
    if (this.#keyStart >= 0) this.#keepKey(chunk, chunk.length);
    this.#position = base + chunk.length;
    return true;
  }

  /** The text is over. @returns whether it was whole and right */
  end(): boolean {
    if (this.problem !== undefined) return false;
    if (this.#state === states.end) return true;
    this.problem = { kind: "syntax", offset: this.#position };
    return false;
  }

  /** The value that counts: the last one, as every JSON parser reads it. */
  last(key: string): JsonMember | undefined {
    for (let index = this.members.length - 1; index >= 0; index--) {
      const member = this.members[index];
      if (member?.key === key) return member;
    }
    return undefined;
  }

  has(key: string): boolean {
    return this.last(key) !== undefined;
  }

  /** The wanted member whose value is being read. */
  get open(): { key: string; start: number } | undefined {
    const wanted = this.#key;
    if (wanted === undefined || this.#valueStart < 0) return undefined;
    return { key: wanted.key, start: this.#valueStart };
  }

  /** From the beginning of an unread string, or of the chunk, to its end. */
  #skipString(chunk: Buffer, from: number): number {
    let start = this.#isEscaped ? from + 1 : from;
    let end = nextQuote(chunk, start);
    this.#isEscaped = isEscapedAt(chunk, start, end);
    while (this.#isEscaped && end < chunk.length) {
      start = end + 1;
      end = nextQuote(chunk, start);
      this.#isEscaped = isEscapedAt(chunk, start, end);
    }
    const isCounted = this.#key !== undefined;
    if (isCounted) this.#encoded.push(chunk, from, end);
    if (end === chunk.length) return end;
    if (isCounted) this.#encoded.end();
    this.#endValue(chunk, end + 1);
    return end + 1;
  }

  #readString(chunk: Buffer, from: number): number {
    const index = endOfPlain(chunk, from);
    if (index === chunk.length) return index;
    const byte = chunk[index];
    if (byte === 0x22) {
      this.#endString(chunk, index);
    } else if (byte === 0x5c) {
      this.#isKeyEscaped = this.#isKey;
      this.#state = states.escape;
    } else {
      this.#fail(index);
    }
    return index + 1;
  }

  #step(chunk: Buffer, index: number): number {
    const byte = chunk[index] as number;
    switch (this.#state) {
      case states.unread:
        return this.#skipString(chunk, index);
      case states.string:
        return this.#readString(chunk, index);
      case states.escape:
        return this.#stepEscape(byte, index);
      case states.unicode:
        return this.#stepUnicode(byte, index);
      case states.literal:
        return this.#stepLiteral(chunk, byte, index);
      case states.number:
        return this.#stepNumber(chunk, index);
      default:
        return this.#stepStructure(chunk, byte, index);
    }
  }

  #stepStructure(chunk: Buffer, byte: number, index: number): number {
    if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) return index + 1;
    switch (this.#state) {
      case states.value:
        return this.#beginValue(byte, index);
      case states.firstElement:
        return byte === 0x5d ? this.#close(chunk, false, index) : this.#beginValue(byte, index);
      case states.firstKey:
        return byte === 0x7d ? this.#close(chunk, true, index) : this.#beginKey(byte, index);
      case states.key:
        return this.#beginKey(byte, index);
      case states.colon:
        if (byte !== 0x3a) return this.#fail(index);
        this.#state = states.value;
        return index + 1;
      case states.afterValue:
        return this.#afterValue(chunk, byte, index);
      default:
        return this.#fail(index);
    }
  }

  #afterValue(chunk: Buffer, byte: number, index: number): number {
    const inObject = this.#isObject[this.#depth] === true;
    if (byte === 0x2c) {
      this.#state = inObject ? states.key : states.value;
      return index + 1;
    }
    if (byte === (inObject ? 0x7d : 0x5d)) return this.#close(chunk, inObject, index);
    return this.#fail(index);
  }

  #beginKey(byte: number, index: number): number {
    if (byte !== 0x22) return this.#fail(index);
    this.#isKey = true;
    this.#isKeyEscaped = false;
    if (this.#depth === 1) this.#keyStart = index + 1;
    this.#state = states.string;
    return index + 1;
  }

  #beginValue(byte: number, index: number): number {
    if (this.#depth === 1 && this.#key !== undefined) this.#valueStart = this.#position + index;
    if (byte === 0x7b || byte === 0x5b) return this.#open(byte === 0x7b, index);
    if (this.#depth === 0) return this.#fail(index);
    if (byte === 0x22) return this.#beginString(index);
    const literal = literals[byte];
    if (literal !== undefined) {
      this.#literal = literal;
      this.#literalIndex = 1;
      this.#state = states.literal;
      return index + 1;
    }
    this.#number = nextOfNumber(beforeNumber, byte);
    if (this.#number === notInNumber) return this.#fail(index);
    this.#state = states.number;
    return index + 1;
  }

  #beginString(index: number): number {
    const wanted = this.#key;
    const isRead = wanted !== undefined && wanted.maxKeptBytes > 0;
    this.#isKey = false;
    this.#isEscaped = false;
    this.#state = isRead ? states.string : states.unread;
    if (!isRead) this.#encoded.begin();
    return index + 1;
  }

  #open(isObject: boolean, index: number): number {
    if (this.#depth === this.#options.maxDepth) return this.#fail(index, "depth");
    this.#depth++;
    this.#isObject[this.#depth] = isObject;
    if (this.#depth === 1 && isObject) this.bodyStart = this.#position + index + 1;
    this.#state = isObject ? states.firstKey : states.firstElement;
    return index + 1;
  }

  #close(chunk: Buffer, isObject: boolean, index: number): number {
    if (this.#isObject[this.#depth] !== isObject) return this.#fail(index);
    this.#depth--;
    if (this.#depth === 0) this.#state = states.end;
    else this.#endValue(chunk, index + 1);
    return index + 1;
  }

  #endString(chunk: Buffer, index: number): void {
    if (!this.#isKey) {
      this.#endValue(chunk, index + 1);
      return;
    }
    this.#isKey = false;
    if (this.#depth === 1) this.#key = this.#readKey(chunk, index);
    this.#state = states.colon;
  }

  /** @param end - offset in the chunk behind the value's last byte */
  #endValue(chunk: Buffer, end: number): void {
    this.#state = states.afterValue;
    const wanted = this.#key;
    if (this.#depth !== 1 || wanted === undefined) return;
    if (this.members.length === maxMembers) {
      this.#fail(end - 1, "repetition");
      return;
    }
    const start = this.#valueStart;
    this.#capture(wanted, chunk, end);
    const length = this.#position + end - start;
    const isWhole = length <= wanted.maxKeptBytes;
    this.members.push({
      key: wanted.key,
      start,
      end: start + length,
      encodedBytes: this.#encoded.bytes,
      raw: isWhole ? this.#captured : undefined,
    });
    this.#captured = "";
    this.#encoded.bytes = 0;
    this.#key = undefined;
    this.#valueStart = -1;
  }

  /** Keeps a copy of value bytes, since a chunk would keep its whole buffer alive. */
  #capture({ maxKeptBytes }: WantedKey, chunk: Buffer, to: number): void {
    const from = Math.max(0, this.#valueStart - this.#position);
    const length = this.#position + to - this.#valueStart;
    if (length > maxKeptBytes) this.#captured = "";
    else this.#captured += chunk.toString("latin1", from, to);
  }

  /** The key continues in the next chunk, unless it is too long to be one that is wanted. */
  #keepKey(chunk: Buffer, to: number): void {
    const isTooLong = this.#keyText.length + to - this.#keyStart > maxKeyBytes;
    this.#keyText = isTooLong ? "" : this.#keyText + chunk.toString("latin1", this.#keyStart, to);
    this.#keyStart = isTooLong ? -1 : 0;
  }

  #readKey(chunk: Buffer, end: number): WantedKey | undefined {
    const { wanted } = this.#options;
    const start = this.#keyStart;
    if (start >= 0 && this.#keyText === "" && !this.#isKeyEscaped) {
      this.#keyStart = -1;
      return wanted.find(chunk, start, end);
    }
    if (start >= 0) this.#keepKey(chunk, end);
    const text = decoded(this.#keyText);
    this.#keyText = "";
    this.#keyStart = -1;
    return wanted.named(this.#isKeyEscaped ? (JSON.parse(`"${text}"`) as string) : text);
  }

  #stepEscape(byte: number, index: number): number {
    if (byte === 0x75) {
      this.#hexLeft = 4;
      this.#state = states.unicode;
    } else if (isSimpleEscape(byte)) {
      this.#state = states.string;
    } else {
      return this.#fail(index);
    }
    return index + 1;
  }

  #stepUnicode(byte: number, index: number): number {
    if (!isHex(byte)) return this.#fail(index);
    this.#hexLeft--;
    if (this.#hexLeft === 0) this.#state = states.string;
    return index + 1;
  }

  #stepLiteral(chunk: Buffer, byte: number, index: number): number {
    if (byte !== this.#literal.charCodeAt(this.#literalIndex)) return this.#fail(index);
    this.#literalIndex++;
    if (this.#literalIndex === this.#literal.length) this.#endValue(chunk, index + 1);
    return index + 1;
  }

  /** A number ends at the first byte that is not its own, which is then looked at again. */
  #stepNumber(chunk: Buffer, from: number): number {
    let index = from;
    let state = this.#number;
    for (; index < chunk.length; index++) {
      const byte = chunk[index] as number;
      // Embeddings are megabytes of digits.
      if (takesDigits(state) && isDigit(byte)) continue;
      const next = nextOfNumber(state, byte);
      if (next === notInNumber) break;
      state = next;
    }
    this.#number = state;
    if (index === chunk.length) return index;
    if (!isWholeNumber(state)) return this.#fail(index);
    this.#endValue(chunk, index);
    return index;
  }

  #fail(index: number, kind: JsonProblem["kind"] = "syntax"): number {
    this.problem = { kind, offset: this.#position + index };
    return index;
  }
}
