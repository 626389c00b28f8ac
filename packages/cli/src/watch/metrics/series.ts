/** Label names and values of one series. */
export type Labels = Readonly<Record<string, string>>;

/** The value of a metric for one combination of labels. */
export interface Point<Value, Names extends Labels = Labels> {
  labels: Names;
  value: Value;
}

/** Stands for the values of labels beyond {@link maxSeries}. */
export const OTHER = "other";

/** The most series of one metric. Beyond it, new label values are counted as {@link OTHER}. */
export const maxSeries = 500;

/**
 * The values of one metric by its labels, or the rows of a sum. Memory is bounded: at most {@link maxSeries} or as many as
 * given, and one more for each combination of closed labels.
 */
export class Series<Value, Names extends Labels = Labels> {
  readonly #values = new Map<string, Point<Value, Names>>();
  readonly #create: () => Value;
  readonly #most: number;
  readonly #other: string;

  /** @param other - stands for the values of open labels beyond the most */
  constructor(create: () => Value, most = maxSeries, other = OTHER) {
    this.#create = create;
    this.#most = most;
    this.#other = other;
  }

  /**
   * @param open - labels whose values come from the network: rooms, participants, models
   * @param closed - labels whose values are from a list of this program
   */
  at(open: Partial<Names>, closed: Partial<Names> = {}): Point<Value, Names> {
    const known = this.#values.get(keyOf({ ...open, ...closed }));
    if (known !== undefined) return known;
    const isFull = this.#values.size >= this.#most;
    const names = Object.keys(open).map((name) => [name, this.#other]);
    const labels = { ...(isFull ? Object.fromEntries(names) : open), ...closed } as Names;
    const key = keyOf(labels);
    const entry = this.#values.get(key) ?? { labels, value: this.#create() };
    this.#values.set(key, entry);
    return entry;
  }

  /** In the order of their first use. */
  get points(): Point<Value, Names>[] {
    return [...this.#values.values()];
  }
}

function keyOf(labels: object): string {
  return JSON.stringify(Object.values(labels));
}

interface Described {
  /** as OpenTelemetry spells it: parts separated by dots */
  name: string;
  /** in UCUM: `s`, an annotation as `{request}`, or empty */
  unit: string;
  help: string;
}

/** One metric now, before it is written as Prometheus text or OTLP. Counters and histograms only grow. */
export type Metric = Described &
  (
    | { kind: "counter" | "gauge"; points: readonly Point<number>[] }
    | { kind: "histogram"; points: readonly Point<Histogram>[] }
  );

/** Counts of samples up to each boundary, and their sum. */
export class Histogram {
  /** ascending; a sample that equals one is within it */
  readonly boundaries: readonly number[];
  readonly #counts: number[];
  #sum = 0;

  constructor(boundaries: readonly number[]) {
    this.boundaries = boundaries;
    this.#counts = Array.from({ length: boundaries.length + 1 }, () => 0);
  }

  record(sample: number): void {
    const index = this.boundaries.findIndex((boundary) => sample <= boundary);
    const bucket = index === -1 ? this.boundaries.length : index;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#sum += sample;
  }

  get sum(): number {
    return this.#sum;
  }

  /** How many samples lie between each boundary and the one before it; the last count is of samples above all boundaries. */
  get counts(): readonly number[] {
    return this.#counts;
  }
}
