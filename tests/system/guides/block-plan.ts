import type { GuideLab } from "../../support/documents/guide-lab.ts";

/** What becomes of one code block of a guide. At least one of `follow` and `cannot` is given. */
export interface BlockPlan {
  /** how the block begins, and no other of its guide */
  begins: string;
  /** Does what a reader does with the block; with `cannot`, what can be checked of it. */
  follow?: ((block: string, lab: GuideLab) => Promise<void>) | undefined;
  /** why the block is not run as it stands, as the end of a sentence */
  cannot?: string | undefined;
  /** a program that other machines have */
  missing?: string | undefined;
}
