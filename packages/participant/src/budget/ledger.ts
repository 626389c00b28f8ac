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
  /** whether the latest start of this ledger counts: see {@link LedgerSums.add} */
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
   * Enters the tokens of a response, of a batch also as such. Kept for the next call when it cannot be written.
   *
   * @throws Error of `node:fs`
   */
  spend(nowMs: number, tokens: number, isBatch = false): void {
    const entry = { tokens: Math.min(tokens, maxTokens) };
    if (isBatch) this.#unwritten.push(encodeEntry({ kind: "batch", ...entry }));
    this.#append(nowMs, { kind: "spent", ...entry });
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
    this.sums(nowMs);
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
    if (entry.kind !== "started") return;
    const isOurs = entry.nonce === `${this.#options.writerId}-${this.#starts.toString(36)}`;
    if (isOurs) this.#isStartCounted = isCounted;
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

/** The two fields named a person in an earlier version, whose processes on this machine still require them. */
const spentLine = /^t (?:[0-9a-f]{8} [0-9a-f]{12} )?(\d{1,15})$/;
const unusedFields = "00000000 000000000000";
/** Processes of an earlier version skip it. */
const batchLine = /^b (\d{1,15})$/;
const startedLine = /^s (\d{1,15}) (\d{1,15}) ([0-9a-z-]{1,40})$/;

/** One entry as a line of the ledger, without its line break. */
export function encodeEntry(entry: LedgerEntry): string {
  if (entry.kind === "spent") return `t ${unusedFields} ${entry.tokens}`;
  if (entry.kind === "batch") return `b ${entry.tokens}`;
  return `s ${entry.atMs} ${entry.limit} ${entry.nonce}`;
}

/** @returns undefined for a line that is damaged: a full disk, or an edit */
export function decodeEntry(line: string): LedgerEntry | undefined {
  const spent = spentLine.exec(line);
  if (spent !== null) return { kind: "spent", tokens: Number(spent[1]) };
  const batch = batchLine.exec(line);
  if (batch !== null) return { kind: "batch", tokens: Number(batch[1]) };
  const started = startedLine.exec(line);
  if (started === null) return undefined;
  const [, atMs, limit, nonce = ""] = started;
  return { kind: "started", atMs: Number(atMs), limit: Number(limit), nonce };
}

const minuteMs = 60_000;

/** One entry of the ledger. */
export type LedgerEntry =
  | { kind: "spent"; tokens: number }
  /** Of the tokens spent, these were a batch's. */
  | { kind: "batch"; tokens: number }
  /** A request was admitted, by a participant that admits `limit` of them in a minute. */
  | { kind: "started"; atMs: number; limit: number; nonce: string };

/**
 * What the entries of one day amount to. Depends on their order alone, so all processes that read the same file agree which
 * of two requests that start at the same time was first.
 */
export class LedgerSums {
  totalTokens = 0;
  /** of these, of batches */
  batchTokens = 0;
  /** epoch ms of the requests admitted in the last minute, oldest first */
  readonly #startsMs: number[];

  /** @param startsMs - of the day before: a minute may include midnight */
  constructor(startsMs: readonly number[] = []) {
    this.#startsMs = [...startsMs];
  }

  get startsMs(): readonly number[] {
    return this.#startsMs;
  }

  /** @returns whether it counts: false for a request that started when its limit had been reached */
  add(entry: LedgerEntry): boolean {
    if (entry.kind === "spent") {
      this.totalTokens += entry.tokens;
      return true;
    }
    if (entry.kind === "batch") {
      this.batchTokens += entry.tokens;
      return true;
    }
    const { first, end } = this.#recent(entry.atMs);
    if (end - first >= entry.limit) return false;
    this.#startsMs.splice(0, first);
    const isLate = entry.atMs < (this.#startsMs.at(-1) ?? 0);
    this.#startsMs.push(entry.atMs);
    if (isLate) this.#startsMs.sort((a, b) => a - b);
    return true;
  }

  /**
   * When another request may start.
   *
   * @returns epoch ms; `nowMs` or earlier when it may start now
   */
  nextStartMs(limit: number, nowMs: number): number {
    const { first, end } = this.#recent(nowMs);
    const blocking = end - first < limit ? undefined : this.#startsMs[end - limit];
    return blocking === undefined ? nowMs : blocking + minuteMs;
  }

  /**
   * The part of the starts that counts, without `end`. A clock that was set back leaves starts in the future; those of
   * the next minute count.
   */
  #recent(nowMs: number): { first: number; end: number } {
    const starts = this.#startsMs;
    let first = 0;
    let end = starts.length;
    while (first < end && (starts[first] ?? 0) <= nowMs - minuteMs) first++;
    while (end > first && (starts[end - 1] ?? 0) >= nowMs + minuteMs) end--;
    return { first, end };
  }
}
