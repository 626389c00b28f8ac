import {
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { decodeEntry, encodeEntry } from "./ledger-line.ts";
import { type LedgerEntry, LedgerSums } from "./ledger-sums.ts";

export interface LedgerOptions {
  /** created when it is needed, for this user alone */
  folder: string;
  /** which endpoint and credentials: hex digits */
  key: string;
  /** the local day of a moment in epoch ms: `2026-03-29` */
  dayOf: (epochMs: number) => string;
  /** Unique among all ledgers of all processes; letters and digits. */
  writerId: string;
}

/** Files of earlier days are kept this long: the clocks of two processes may be in different time zones. */
const keptDays = 3;
const dayMs = 86_400_000;
const readBytes = 64 * 1024;
/** A provider may report any number; a line has room for 15 digits. */
const maxTokens = 1_000_000_000_000;

/**
 * What was spent at one endpoint with one set of credentials today, in a file that all participants of all processes on
 * this machine append to. One file per day, one line per entry.
 *
 * Lines are appended with `O_APPEND` in one write each, which the system does not interleave; before each decision the
 * lines of others are read. So no lock is needed, and a process that is killed loses at most its running responses.
 * Synchronous, because a decision and its entry must not be separated; each call takes less than 0.1 ms.
 */
export class Ledger {
  readonly #options: LedgerOptions;
  #day: string | undefined;
  #sums = new LedgerSums();
  #inode = 0;
  /** bytes of the file that `#sums` contains: whole lines */
  #offset = 0;
  /** entries that could not be written yet */
  #unwritten: string[] = [];
  #starts = 0;
  /** verdict on the latest start of this ledger: see {@link LedgerSums.add} */
  #isStartCounted = false;

  constructor(options: LedgerOptions) {
    this.#options = options;
  }

  /**
   * The sums of the day, with the entries of all processes.
   *
   * @throws Error of `node:fs` when the file cannot be read, or earlier entries cannot be written
   */
  sums(nowMs: number): LedgerSums {
    this.#turnDay(nowMs);
    this.#withFile((file) => {
      this.#flush(file);
      this.#read(file);
    });
    return this.#sums;
  }

  /**
   * Enters the tokens of a response. Kept for the next call when it cannot be written.
   *
   * @throws Error of `node:fs`
   */
  spend(nowMs: number, tokens: number): void {
    this.#append(nowMs, { kind: "spent", tokens: Math.min(tokens, maxTokens) });
  }

  /**
   * Enters a request that is about to start.
   *
   * @returns false when a request of another process was faster and reached the limit
   * @throws Error of `node:fs`
   */
  start(nowMs: number, limit: number): boolean {
    this.#isStartCounted = false;
    const nonce = `${this.#options.writerId}-${(++this.#starts).toString(36)}`;
    this.#append(nowMs, { kind: "started", atMs: Math.floor(nowMs), limit, nonce });
    return this.#isStartCounted;
  }

  #append(nowMs: number, entry: LedgerEntry): void {
    this.#unwritten.push(encodeEntry(entry));
    this.#turnDay(nowMs);
    this.#withFile((file) => {
      this.#flush(file);
      this.#read(file);
    });
  }

  #flush(file: number): void {
    while (this.#unwritten.length > 0) {
      // A line break before each line: the one before may have been cut off by a full disk.
      const line = Buffer.from(`\n${this.#unwritten[0]}\n`);
      if (writeSync(file, line) < line.length) throw new Error("the disk is full");
      this.#unwritten.shift();
    }
  }

  #read(file: number): void {
    const { size, ino } = fstatSync(file);
    // The file was removed or replaced by hand: what is in it counts.
    if (ino !== this.#inode || size < this.#offset) {
      if (this.#inode !== 0) this.#sums = new LedgerSums(this.#sums.startsMs);
      this.#inode = ino;
      this.#offset = 0;
    }
    const buffer = Buffer.allocUnsafe(Math.min(readBytes, Math.max(size - this.#offset, 0)));
    while (this.#offset < size) {
      const length = readSync(file, buffer, 0, buffer.length, this.#offset);
      const whole = buffer.subarray(0, length).lastIndexOf(0x0a) + 1;
      // The last line is being written. Damage without a line break is skipped.
      if (whole === 0 && length < readBytes) return;
      for (const line of buffer.toString("latin1", 0, whole).split("\n")) this.#take(line);
      this.#offset += whole === 0 ? length : whole;
    }
  }

  #take(line: string): void {
    const entry = line === "" ? undefined : decodeEntry(line);
    if (entry === undefined) return;
    const isCounted = this.#sums.add(entry);
    if (entry.kind === "spent") return;
    const isOwn = entry.nonce === `${this.#options.writerId}-${this.#starts.toString(36)}`;
    if (isOwn) this.#isStartCounted = isCounted;
  }

  #turnDay(nowMs: number): void {
    const day = this.#options.dayOf(nowMs);
    if (day === this.#day) return;
    // The last starts of the day before count for a minute more.
    if (this.#day !== undefined) this.#withFile((file) => this.#read(file));
    this.#day = day;
    this.#sums = new LedgerSums(this.#sums.startsMs);
    this.#inode = 0;
    this.#offset = 0;
    this.#removeOld(nowMs);
  }

  #removeOld(nowMs: number): void {
    const { folder, dayOf } = this.#options;
    const oldest = dayOf(nowMs - keptDays * dayMs);
    try {
      for (const name of readdirSync(folder)) {
        const day = /^[0-9a-f]+\.(\d{4}-\d{2}-\d{2})$/.exec(name)?.[1];
        if (day !== undefined && day < oldest) rmSync(join(folder, name), { force: true });
      }
    } catch {
      // There is no folder yet; one that cannot be used is reported when the file is opened.
    }
  }

  /** Opened each time, so that a file that was removed is not written to. */
  #withFile(use: (file: number) => void): void {
    const { folder, key } = this.#options;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT;
    const file = openSync(join(folder, `${key}.${this.#day}`), flags, 0o600);
    try {
      use(file);
    } finally {
      closeSync(file);
    }
  }
}
