import { DirectoryUnavailable } from "../directory.ts";
import type { StoredHome } from "./room-home.ts";

export interface HomeReadsOptions {
  readHome: (code: string) => Promise<StoredHome | undefined>;
  onRead: (code: string, stored: StoredHome | undefined) => void;
  /** The directory did not respond. The read is repeated at the next {@link HomeReads.retry}. */
  onFailed: () => void;
  reportBug: (error: unknown) => void;
}

/** Reads entries of homes. Only the reply to the latest read of a room counts: an earlier one may be older than its cause. */
export class HomeReads {
  readonly #options: HomeReadsOptions;
  /** number of the latest read, of rooms that are read or wait for it */
  readonly #latest = new Map<string, number>();
  readonly #failed = new Set<string>();
  #number = 0;

  constructor(options: HomeReadsOptions) {
    this.#options = options;
  }

  begin(code: string): void {
    this.#failed.delete(code);
    this.#latest.set(code, (this.#number += 1));
    void this.#run(code, this.#number);
  }

  /** At the next {@link retry}: at once would repeat a failure without a pause. */
  beginLater(code: string): void {
    this.#latest.set(code, (this.#number += 1));
    this.#failed.add(code);
  }

  isPending(code: string): boolean {
    return this.#latest.has(code);
  }

  /** Reads once more what could not be read. */
  retry(): void {
    for (const code of [...this.#failed]) this.begin(code);
  }

  /**
   * This process was suspended: replies on their way are too old.
   *
   * @returns the rooms whose reads are given up
   */
  giveUp(): string[] {
    const codes = [...this.#latest.keys()].filter((code) => !this.#failed.has(code));
    for (const code of codes) this.#latest.delete(code);
    return codes;
  }

  forget(code: string): void {
    this.#latest.delete(code);
    this.#failed.delete(code);
  }

  async #run(code: string, number: number): Promise<void> {
    const { readHome, onRead, onFailed, reportBug } = this.#options;
    const isLatest = () => this.#latest.get(code) === number;
    try {
      const stored = await readHome(code);
      if (!isLatest()) return;
      this.#latest.delete(code);
      onRead(code, stored);
    } catch (error) {
      if (!(error instanceof DirectoryUnavailable)) reportBug(error);
      if (isLatest()) this.#failed.add(code);
      onFailed();
    }
  }
}
