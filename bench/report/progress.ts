import type { PlannedRow } from "../plan.ts";

/** One line on a terminal that shows the progress of a long run. Elsewhere nothing. */
export class Progress {
  readonly #plan: readonly PlannedRow[];
  readonly #stream: NodeJS.WriteStream;
  readonly #startMs = performance.now();
  readonly #timer: NodeJS.Timeout | undefined;
  #at = -1;
  #rowStartMs = 0;

  constructor(plan: readonly PlannedRow[], stream: NodeJS.WriteStream) {
    this.#plan = plan;
    this.#stream = stream;
    if (stream.isTTY) this.#timer = setInterval(() => this.#draw(), 500);
  }

  begin(planned: PlannedRow): void {
    this.#at = this.#plan.indexOf(planned);
    this.#rowStartMs = performance.now();
    this.#draw();
  }

  end(): void {
    clearInterval(this.#timer);
    this.#clear();
  }

  #draw(): void {
    const planned = this.#plan[this.#at];
    if (planned === undefined || !this.#stream.isTTY) return;
    const elapsed = (performance.now() - this.#startMs) / 1_000;
    const inRow = (performance.now() - this.#rowStartMs) / 1_000;
    const ofRow = Math.max(0, planned.seconds - inRow);
    const later = this.#plan.slice(this.#at + 1);
    const left = later.reduce((sum, { seconds }) => sum + seconds, ofRow);
    const { id, title } = planned.row;
    this.#clear();
    this.#stream.write(
      `${this.#at + 1}/${this.#plan.length}  row ${id}: ${title.slice(0, 40)}  ${clock(elapsed)} elapsed, about ${clock(left)} left`,
    );
  }

  #clear(): void {
    if (this.#stream.isTTY) this.#stream.write("\r\u001b[K");
  }
}

function clock(seconds: number): string {
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}
