interface Log {
  readonly bytes: number;
  clear(): void;
}

/**
 * What the sessions of one process keep in order to send it again, together. Over the limit the largest log is dropped:
 * its session cannot be resumed, the others go on as before.
 */
export class LogBudget {
  readonly #limitBytes: number;
  readonly #logs = new Set<Log>();
  #bytes = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** Of all logs. */
  get bytes(): number {
    return this.#bytes;
  }

  add(log: Log): void {
    this.#logs.add(log);
  }

  /** @param log - which is empty */
  delete(log: Log): void {
    this.#logs.delete(log);
  }

  /** A log has so many bytes more, or fewer. */
  note(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > this.#limitBytes) this.#dropLargest();
  }

  #dropLargest(): void {
    let largest: Log | undefined;
    for (const log of this.#logs) if (log.bytes > (largest?.bytes ?? 0)) largest = log;
    largest?.clear();
  }
}
