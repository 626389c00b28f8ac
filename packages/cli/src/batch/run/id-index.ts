/**
 * The numbers of texts by their 64-bit hashes: 16 bytes for each of a million ids, and no text is kept. Two texts may have
 * the same hash, so every search returns candidates, and the caller compares the texts.
 */
export class IdIndex {
  readonly #hashOf: HashOf;
  readonly #high = new NumberColumn((length) => new Uint32Array(length));
  readonly #low = new NumberColumn((length) => new Uint32Array(length));
  /** number + 1 by hash, open addressing; 0 is free */
  #table = new Uint32Array(2048);

  constructor(hashOf: HashOf = hashOfUnits) {
    this.#hashOf = hashOf;
  }

  /** Adds a text, whose number is the count of those before. */
  add(text: string): void {
    const { high, low } = this.#hashOf(text);
    this.#high.push(high);
    this.#low.push(low);
    if (this.#low.length * 2 > this.#table.length) this.#grow();
    else this.#place(this.#low.length - 1);
  }

  /** @returns the numbers of the texts with the same hash, in the order of their addition */
  find(text: string): number[] {
    const { high, low } = this.#hashOf(text);
    const found: number[] = [];
    const mask = this.#table.length - 1;
    for (let slot = low & mask; ; slot = (slot + 1) & mask) {
      const number = (this.#table[slot] ?? 0) - 1;
      if (number < 0) return found;
      if (this.#high.at(number) === high && this.#low.at(number) === low) found.push(number);
    }
  }

  #place(number: number): void {
    const mask = this.#table.length - 1;
    let slot = this.#low.at(number) & mask;
    while (this.#table[slot] !== 0) slot = (slot + 1) & mask;
    this.#table[slot] = number + 1;
  }

  #grow(): void {
    this.#table = new Uint32Array(this.#table.length * 2);
    for (let number = 0; number < this.#low.length; number++) this.#place(number);
  }
}

/** 32 bits each */
export type HashOf = (text: string) => { high: number; low: number };

/** Computed here: what `node:crypto` returns for each of a million ids takes more memory than the table. */
function hashOfUnits(text: string): ReturnType<HashOf> {
  let high = 0x9e3779b9 ^ text.length;
  let low = 0x85ebca6b;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    high = Math.imul(high ^ unit, 0x01000193);
    low = Math.imul(low ^ (unit + (high >>> 16)), 0x5bd1e995);
  }
  return { high: mixed(high ^ (low >>> 13)), low: mixed(low) };
}

/** Spreads what differs over all 32 bits. */
function mixed(bits: number): number {
  const half = Math.imul(bits ^ (bits >>> 16), 0x7feb352d);
  const whole = Math.imul(half ^ (half >>> 15), 0x846ca68b);
  return (whole ^ (whole >>> 16)) >>> 0;
}

type Block = Uint32Array | Uint16Array | Uint8Array;

const blockLength = 65_536;

/** A list of numbers that only grows. It is kept in blocks, since a growing array wastes the memory of its earlier copies. */
export class NumberColumn {
  readonly #makeBlock: (length: number) => Block;
  readonly #blocks: Block[] = [];
  #length = 0;

  /** @param makeBlock - says which numbers fit: `(length) => new Uint8Array(length)` */
  constructor(makeBlock: (length: number) => Block) {
    this.#makeBlock = makeBlock;
  }

  get length(): number {
    return this.#length;
  }

  push(value: number): void {
    const index = this.#length++ % blockLength;
    if (index === 0) this.#blocks.push(this.#makeBlock(blockLength));
    const block = this.#blocks.at(-1);
    if (block !== undefined) block[index] = value;
  }

  /** @returns 0 where there is none */
  at(index: number): number {
    return this.#blocks[Math.floor(index / blockLength)]?.[index % blockLength] ?? 0;
  }
}
