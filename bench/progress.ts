import type { Row } from "./row.ts";

/** One line on a terminal that tells where a long run is. Elsewhere nothing. */
export class Progress {
  readonly #rows: readonly Row[];
  readonly #isQuick: boolean;
  readonly #stream: NodeJS.WriteStream;
  readonly #startMs = performance.now();
  readonly #timer: NodeJS.Timeout | undefined;
  #at = -1;
  #rowStartMs = 0;

  constructor(rows: readonly Row[], isQuick: boolean, stream: NodeJS.WriteStream) {
    this.#rows = rows;
    this.#isQuick = isQuick;
    this.#stream = stream;
    if (stream.isTTY) this.#timer = setInterval(() => this.#draw(), 500);
  }

  begin(row: Row): void {
    this.#at = this.#rows.indexOf(row);
    this.#rowStartMs = performance.now();
    this.#draw();
  }

  end(): void {
    clearInterval(this.#timer);
    this.#clear();
  }

  #draw(): void {
    const row = this.#rows[this.#at];
    if (row === undefined || !this.#stream.isTTY) return;
    const elapsed = (performance.now() - this.#startMs) / 1_000;
    const inRow = (performance.now() - this.#rowStartMs) / 1_000;
    const ofRow = Math.max(0, this.#secondsOf(row) - inRow);
    const later = this.#rows.slice(this.#at + 1);
    const left = later.reduce((sum, one) => sum + this.#secondsOf(one), ofRow);
    this.#clear();
    this.#stream.write(
      `${this.#at + 1}/${this.#rows.length}  row ${row.id}: ${row.title.slice(0, 40)}  ${clock(elapsed)} elapsed, about ${clock(left)} left`,
    );
  }

  #secondsOf(row: Row): number {
    return this.#isQuick ? row.seconds.quick : row.seconds.full;
  }

  #clear(): void {
    if (this.#stream.isTTY) this.#stream.write("\r\u001b[K");
  }
}

function clock(seconds: number): string {
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}
