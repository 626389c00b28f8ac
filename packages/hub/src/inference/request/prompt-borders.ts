import type { PromptBorder } from "../../domain/placement/warm-conversations.ts";

/** A checksum that continues an earlier one: CRC-32, as `zlib.crc32` computes it. */
export type Checksum = (bytes: Buffer, earlier: number) => number;

/** A shorter prompt is computed in no time. */
const firstBorderBytes = 1_024;
const growth = 1.5;
const lastBorderBytes = 16 * 1024 * 1024;

/** Far apart in long prompts, so that there are at most 24 of them: a guess that is off by a third still helps. */
const borderBytes: readonly number[] = Array.from(
  { length: Math.floor(Math.log(lastBorderBytes / firstBorderBytes) / Math.log(growth)) + 1 },
  (_, index) => Math.round(firstBorderBytes * growth ** index),
);

/**
 * Checksums of the beginnings of a prompt, taken while it arrives: 1 KiB, then each half as long again, to 16 MiB. Two
 * prompts that begin with the same bytes have the same borders up to there.
 */
export class PromptBorders {
  readonly borders: PromptBorder[] = [];
  readonly #checksum: Checksum;
  #bytes = 0;
  #sum = 0;

  constructor(checksum: Checksum) {
    this.#checksum = checksum;
  }

  /** The next bytes of the prompt. */
  push(chunk: Buffer, from: number, to: number): void {
    let start = from;
    while (start < to) {
      const border = borderBytes[this.borders.length];
      if (border === undefined) return;
      const end = Math.min(to, start + border - this.#bytes);
      this.#sum = this.#checksum(chunk.subarray(start, end), this.#sum);
      this.#bytes += end - start;
      // With the position, since a checksum alone is short.
      const key = this.borders.length * 2 ** 32 + this.#sum;
      if (this.#bytes === border) this.borders.push({ key, bytes: border });
      start = end;
    }
  }
}
