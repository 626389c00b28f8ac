import { badResume, COUNT_RANGE } from "../wire/resume.ts";

/** Body bytes are held back long before: this limits control frames and the heads of requests. */
const MAX_BYTES = 16 * 1024 * 1024;

/**
 * The messages of a session that the other end has not acknowledged, in order and without a copy: they stay in the slabs in
 * which they were framed.
 *
 * Over its limit it drops what it has. The session can be resumed again once the other end has acknowledged what was dropped.
 */
export class SentLog {
  readonly #onReleased: (slab: ArrayBufferLike) => void;
  readonly #budget: LogBudget | undefined;
  #messages: Buffer[] = [];
  /** index in `#messages` of the oldest message that is still kept */
  #index = 0;
  /** number of messages before that one */
  #before = 0;
  #acknowledged = 0;
  #bytes = 0;
  #noticedAcknowledged = 0;

  /**
   * @param onReleased - no kept message is in this slab any more; the sender may still write to it
   * @param budget - that it shares with other logs
   */
  constructor(onReleased: (slab: ArrayBufferLike) => void, budget?: LogBudget) {
    this.#onReleased = onReleased;
    this.#budget = budget;
  }

  /** Messages sent so far. */
  get sent(): number {
    return this.#before + this.#messages.length - this.#index;
  }

  /** Of the kept messages. */
  get bytes(): number {
    return this.#bytes;
  }

  get isEmpty(): boolean {
    return this.#index === this.#messages.length;
  }

  /** Nothing waits to be acknowledged, or something was since the last call. */
  takeProgress(): boolean {
    const before = this.#noticedAcknowledged;
    this.#noticedAcknowledged = this.#acknowledged;
    return this.isEmpty || this.#acknowledged > before;
  }

  push(message: Buffer): void {
    this.#messages.push(message);
    this.#bytes += message.length;
    this.#budget?.note(message.length);
    if (this.#bytes > MAX_BYTES) this.clear();
  }

  /**
   * @param count - modulo 2³²: messages that the other end has processed
   * @throws {ProtocolError} 4002 for more than were sent, or fewer than it acknowledged before
   */
  acknowledge(count: number): void {
    this.#acknowledged = this.#wholeCount(count);
    while (this.#before < this.#acknowledged) {
      const { buffer } = this.#shift();
      if (this.#messages[this.#index]?.buffer !== buffer) this.#onReleased(buffer);
    }
    this.#trim();
  }

  /**
   * The messages that the other end lacks.
   *
   * @param count - modulo 2³²: messages that it has processed
   * @returns undefined when some of them were dropped
   * @throws {ProtocolError} as {@link acknowledge}
   */
  after(count: number): Buffer[] | undefined {
    const whole = this.#wholeCount(count);
    if (whole < this.#before) return undefined;
    return this.#messages.slice(this.#index + whole - this.#before);
  }

  /** Their slabs are not released: the transport may still be sending from them. */
  clear(): void {
    while (!this.isEmpty) this.#shift();
    this.#trim();
  }

  #wholeCount(count: number): number {
    const news = (count - (this.#acknowledged % COUNT_RANGE) + COUNT_RANGE) % COUNT_RANGE;
    const whole = this.#acknowledged + news;
    if (whole > this.sent) throw badResume(`${count} messages acknowledged, ${this.sent} sent`);
    return whole;
  }

  #shift(): Buffer {
    const message = this.#messages[this.#index] ?? NOTHING;
    // A dropped message must not keep its slab alive until the array is trimmed.
    this.#messages[this.#index] = NOTHING;
    this.#index += 1;
    this.#before += 1;
    this.#bytes -= message.length;
    this.#budget?.note(-message.length);
    return message;
  }

  /** Moves what is left to the front when most of the array is behind it. */
  #trim(): void {
    if (this.isEmpty) this.#messages.length = 0;
    else if (this.#index > 64 && this.#index * 2 > this.#messages.length)
      this.#messages.splice(0, this.#index);
    else return;
    this.#index = 0;
  }
}

const NOTHING = Buffer.alloc(0);

/**
 * The logs of all sessions of one process. When they exceed the limit together, the largest one is dropped: its session cannot
 * be resumed, the others are not affected.
 */
export class LogBudget {
  readonly #limitBytes: number;
  readonly #logs = new Set<SentLog>();
  #bytes = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** Of all logs. */
  get bytes(): number {
    return this.#bytes;
  }

  add(log: SentLog): void {
    this.#logs.add(log);
  }

  /** @param log - which is empty */
  delete(log: SentLog): void {
    this.#logs.delete(log);
  }

  /** A log has so many bytes more, or fewer. */
  note(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > this.#limitBytes) this.#dropLargest();
  }

  #dropLargest(): void {
    let largest: SentLog | undefined;
    for (const log of this.#logs) if (log.bytes > (largest?.bytes ?? 0)) largest = log;
    largest?.clear();
  }
}
