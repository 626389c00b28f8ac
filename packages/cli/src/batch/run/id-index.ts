import { hash } from "node:crypto";

/**
 * The numbers of texts by their 64-bit hashes: 16 bytes for each of a million ids, and no text is kept. Two texts may have
 * the same hash, so every search returns candidates, and the caller compares the texts.
 */
export class IdIndex {
  readonly #hashOf: HashOf;
  #count = 0;
  #high = new Uint32Array(1024);
  #low = new Uint32Array(1024);
  /** number + 1 by hash, open addressing; 0 is free */
  #table = new Uint32Array(2048);

  constructor(hashOf: HashOf = startOfSha1) {
    this.#hashOf = hashOf;
  }

  /** Adds a text, whose number is the count of those before. */
  add(text: string): void {
    const { high, low } = this.#hashOf(text);
    if (this.#count === this.#high.length) this.#grow();
    this.#high[this.#count] = high;
    this.#low[this.#count] = low;
    this.#place(this.#count++);
  }

  /** @returns the numbers of the texts with the same hash, in the order of their addition */
  find(text: string): number[] {
    const { high, low } = this.#hashOf(text);
    const found: number[] = [];
    const mask = this.#table.length - 1;
    for (let slot = low & mask; ; slot = (slot + 1) & mask) {
      const number = (this.#table[slot] ?? 0) - 1;
      if (number < 0) return found;
      if (this.#high[number] === high && this.#low[number] === low) found.push(number);
    }
  }

  #place(number: number): void {
    const mask = this.#table.length - 1;
    let slot = (this.#low[number] ?? 0) & mask;
    while (this.#table[slot] !== 0) slot = (slot + 1) & mask;
    this.#table[slot] = number + 1;
  }

  #grow(): void {
    this.#high = doubled(this.#high);
    this.#low = doubled(this.#low);
    this.#table = new Uint32Array(this.#table.length * 2);
    for (let number = 0; number < this.#count; number++) this.#place(number);
  }
}

/** 32 bits each */
type HashOf = (text: string) => { high: number; low: number };

function startOfSha1(text: string): ReturnType<HashOf> {
  const digest = hash("sha1", text, "buffer");
  return { high: digest.readUInt32LE(0), low: digest.readUInt32LE(4) };
}

function doubled(numbers: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(numbers.length * 2);
  larger.set(numbers);
  return larger;
}
