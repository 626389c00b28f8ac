import { EncodedStrings } from "./encoded-strings.ts";

/** Shorter strings may be keys and ids, which no prompt has. */
const leastLength = 64;

/**
 * How many characters a JSON value has in its long strings, without `data:` URLs and base64. Of a character that repeats
 * the one before none is counted, since tokens for runs of spaces and lines are long.
 *
 * @param start - of the value in all chunks together
 */
export function countText(chunks: readonly Buffer[], start: number, end: number): number {
  const text = new TextCounter();
  let position = 0;
  for (const chunk of chunks) {
    const from = Math.max(0, start - position);
    const to = Math.min(chunk.length, end - position);
    if (from < to) text.push(chunk, from, to);
    position += chunk.length;
  }
  return text.characters;
}

/** What of an escape is still to come. */
const states = Object.freeze({ structure: 0, text: 1, escape: 2, hex: 3 });

class TextCounter {
  characters = 0;
  readonly #encoded = new EncodedStrings();
  #state: (typeof states)[keyof typeof states] = states.structure;
  #inString = 0;
  #previous = 0;
  #hexLeft = 0;

  push(chunk: Buffer, from: number, to: number): void {
    let stringStart = from;
    for (let index = from; index < to; index++) {
      const byte = chunk[index] as number;
      switch (this.#state) {
        case states.structure:
          if (byte !== 0x22) break;
          this.#begin();
          stringStart = index + 1;
          break;
        case states.text:
          if (byte === 0x22) this.#end(chunk, stringStart, index);
          else this.#take(byte);
          break;
        case states.escape:
          this.#hexLeft = 4;
          this.#state = byte === 0x75 ? states.hex : states.text;
          break;
        case states.hex:
          if (--this.#hexLeft === 0) this.#state = states.text;
      }
    }
    if (this.#state !== states.structure) this.#encoded.push(chunk, stringStart, to);
  }

  #begin(): void {
    this.#state = states.text;
    this.#inString = 0;
    this.#previous = 0;
    this.#encoded.begin();
  }

  #take(byte: number): void {
    if (byte === 0x5c) this.#state = states.escape;
    // The bytes of one character begin with one of another form.
    const isContinued = (byte & 0xc0) === 0x80;
    if (!isContinued && byte !== this.#previous) this.#inString++;
    this.#previous = byte;
  }

  #end(chunk: Buffer, from: number, to: number): void {
    this.#state = states.structure;
    const before = this.#encoded.bytes;
    this.#encoded.push(chunk, from, to);
    this.#encoded.end();
    const isText = this.#encoded.bytes === before && this.#inString >= leastLength;
    if (isText) this.characters += this.#inString;
  }
}
