import { DirectoryUnavailable } from "../directory.ts";
import type { StoredHome } from "./room-home.ts";

/** After a suspension a hub reads the homes of all its rooms. */
const maxAtOnce = 64;

export interface HomeReadsOptions {
  readHome: (code: string) => Promise<StoredHome | undefined>;
  /** The room is not kept waiting behind others. */
  isUrgent: (code: string) => boolean;
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
  readonly #queued = new Set<string>();
  readonly #failed = new Set<string>();
  #number = 0;
  #running = 0;

  constructor(options: HomeReadsOptions) {
    this.#options = options;
  }

  begin(code: string): void {
    this.#failed.delete(code);
    this.#queued.delete(code);
    this.#latest.set(code, (this.#number += 1));
    if (this.#running < maxAtOnce || this.#options.isUrgent(code)) void this.#run(code);
    else this.#queued.add(code);
  }

  /** At the next {@link retry}: at once would repeat a failure without a pause. */
  beginLater(code: string): void {
    this.#latest.set(code, (this.#number += 1));
    this.#failed.add(code);
  }

  /** Something waits for the room now. */
  urge(code: string): void {
    if (this.#queued.delete(code)) void this.#run(code);
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
    const codes = [...this.#latest.keys()].filter(
      (code) => !this.#queued.has(code) && !this.#failed.has(code),
    );
    for (const code of codes) this.#latest.delete(code);
    return codes;
  }

  forget(code: string): void {
    this.#latest.delete(code);
    this.#queued.delete(code);
    this.#failed.delete(code);
  }

  async #run(code: string): Promise<void> {
    const number = this.#latest.get(code);
    if (number === undefined) return;
    this.#running += 1;
    try {
      const stored = await this.#options.readHome(code);
      if (this.#latest.get(code) === number) {
        this.#latest.delete(code);
        this.#options.onRead(code, stored);
      }
    } catch (error) {
      if (!(error instanceof DirectoryUnavailable)) this.#options.reportBug(error);
      if (this.#latest.get(code) === number) this.#failed.add(code);
      this.#options.onFailed();
    } finally {
      this.#running -= 1;
      const [next] = this.#queued;
      if (next !== undefined && this.#running < maxAtOnce) this.urge(next);
    }
  }
}
