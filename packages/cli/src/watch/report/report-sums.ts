import { binOf, percentile } from "@roomhub/room-state";
import { type UsageRow, UsageSums } from "./usage-sums.ts";
import { Series } from "../metrics/series.ts";
import { parseRecordedLine } from "../record/record-line.ts";

/** Requests that failed at one stage with one code. */
export interface FailureRow {
  stage: string;
  /** a code of the hub or of a provider; `others` beyond the limit */
  code: string;
  requests: number;
}

/** What a recording says about a room. */
export interface Report {
  /** ISO times of the first and the last event; null without any */
  from: string | null;
  to: string | null;
  /** that ended, failed ones included */
  requests: number;
  errors: number;
  /** times that complete responses went on after their tunnel had lost its connection */
  resumes: number;
  /** most requests first */
  failures: FailureRow[];
  /** ms, of complete responses; null without any */
  ttftMs: Percentiles | null;
  /** of complete responses that report tokens; null without any */
  tokensPerSecond: Percentiles | null;
  usage: UsageRow[];
  /** events in gaps whose length is known */
  missedEvents: number;
  /** gaps whose length is unknown, since the hub restarted */
  restarts: number;
  /** that are no lines of a recording, such as one that was cut off */
  unreadableLines: number;
}

const maxFailureRows = 1_000;

/** Sums the lines of recordings. Memory is bounded. */
export class ReportSums {
  readonly #usage = new UsageSums();
  readonly #ttftMs = new Quantiles(1);
  readonly #tokensPerSecond = new Quantiles(0.001);
  // A code that a provider made up can be any string.
  readonly #failures = new Series<number, Pick<FailureRow, "stage" | "code">>(
    () => 0,
    maxFailureRows,
    "others",
  );
  #from: string | null = null;
  #to: string | null = null;
  #requests = 0;
  #errors = 0;
  #resumes = 0;
  #missedEvents = 0;
  #restarts = 0;
  #unreadableLines = 0;

  /** @param line - null for one that is too long to be read */
  note(line: string | null): void {
    if (line?.trim() === "") return;
    const record = line === null ? ({ kind: "unreadable" } as const) : parseRecordedLine(line);
    switch (record.kind) {
      case "unreadable":
        this.#unreadableLines++;
        return;
      case "gap":
        if (record.missed === null) this.#restarts++;
        else this.#missedEvents += record.missed;
        return;
      case "other":
        this.#noteTime(record.time);
        return;
      case "end":
        this.#noteTime(record.event.timestamp);
        this.#noteEnd(record.event);
    }
  }

  report(): Report {
    return {
      from: this.#from,
      to: this.#to,
      requests: this.#requests,
      errors: this.#errors,
      resumes: this.#resumes,
      failures: this.#failures.points
        .map(({ labels: { stage, code }, value }) => ({ stage, code, requests: value }))
        .sort((one, other) => other.requests - one.requests),
      ttftMs: this.#ttftMs.percentiles(),
      tokensPerSecond: this.#tokensPerSecond.percentiles(),
      usage: this.#usage.rows(),
      missedEvents: this.#missedEvents,
      restarts: this.#restarts,
      unreadableLines: this.#unreadableLines,
    };
  }

  #noteEnd(event: (ReturnType<typeof parseRecordedLine> & { kind: "end" })["event"]): void {
    this.#requests++;
    this.#usage.note(event);
    if (event.type === "llm.error") {
      this.#errors++;
      this.#failures.at({ code: event.code }, { stage: event.stage }).value++;
      return;
    }
    this.#resumes += event.resumes ?? 0;
    this.#ttftMs.record(event.metrics.ttftMs);
    const { tokensPerSecond } = event.metrics;
    if (tokensPerSecond !== undefined) this.#tokensPerSecond.record(tokensPerSecond);
  }

  /** Files may be read in any order. */
  #noteTime(time: string): void {
    if (this.#from === null || Date.parse(time) < Date.parse(this.#from)) this.#from = time;
    if (this.#to === null || Date.parse(time) > Date.parse(this.#to)) this.#to = time;
  }
}

export interface Percentiles {
  p50: number;
  p95: number;
  p99: number;
}

/** Percentiles of any number of samples, exact to 3 %, in some 400 counts. */
export class Quantiles {
  readonly #bins = new Map<number, number>();
  /** Bins begin at 1, so smaller samples are multiplied. */
  readonly #scale: number;

  /** @param smallest - sample that is distinguished from 0 */
  constructor(smallest: number) {
    this.#scale = 1 / smallest;
  }

  /** @param sample - 0 or more; anything else is left out */
  record(sample: number): void {
    if (!(sample >= 0 && sample < Number.POSITIVE_INFINITY)) return;
    const bin = binOf(sample * this.#scale);
    this.#bins.set(bin, (this.#bins.get(bin) ?? 0) + 1);
  }

  /** @returns null without samples */
  percentiles(): Percentiles | null {
    const [p50, p95, p99] = [0.5, 0.95, 0.99].map((share) => percentile([this.#bins], share));
    if (p50 === undefined || p95 === undefined || p99 === undefined) return null;
    return { p50: this.#unscaled(p50), p95: this.#unscaled(p95), p99: this.#unscaled(p99) };
  }

  /** Three digits are more than a bin is exact to. */
  #unscaled(value: number): number {
    return Number((value / this.#scale).toPrecision(3));
  }
}
