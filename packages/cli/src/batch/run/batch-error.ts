import type { LineProblem } from "./batch-input.ts";

/** Why a batch cannot begin or continue. With the kind `not-written` it can once the disk lets it, otherwise nothing was sent. */
export class BatchError extends Error {
  override readonly name = "BatchError";
  readonly kind: "in-use" | "invalid-input" | "not-written" | "other-input" | "other-files";
  /** the next step */
  readonly hint: string;
  /** the first lines of an input that cannot be sent */
  readonly problems: readonly LineProblem[];

  constructor(
    kind: BatchError["kind"],
    message: string,
    hint: string,
    problems: readonly LineProblem[] = [],
  ) {
    super(message);
    this.kind = kind;
    this.hint = hint;
    this.problems = problems;
  }
}

/** @throws BatchError which says why the file was not written */
export async function written<T>(path: string, writing: Promise<T>): Promise<T> {
  try {
    return await writing;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const repair = code === "ENOSPC" ? "free space on its disk" : "make it writable";
    const next = `${repair}, then run the same command`;
    throw new BatchError("not-written", `${path} cannot be written: ${message}`, next);
  }
}
