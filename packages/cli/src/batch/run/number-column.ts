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
