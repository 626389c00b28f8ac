/** Label names and values of one series. */
export type Labels = Readonly<Record<string, string>>;

/** The value of a metric for one combination of labels. */
export interface Point<Value> {
  labels: Labels;
  value: Value;
}

/** Stands for the values of labels beyond {@link maxSeries}. */
export const OTHER = "other";

/** The most series of one metric. Beyond it, new label values are counted as {@link OTHER}. */
export const maxSeries = 500;

/**
 * The values of one metric by its labels. Memory is bounded: at most {@link maxSeries}, and one more for each combination
 * of closed labels.
 */
export class Series<Value> {
  readonly #values = new Map<string, Point<Value>>();
  readonly #create: () => Value;

  constructor(create: () => Value) {
    this.#create = create;
  }

  /**
   * @param open - labels whose values come from the network: rooms, participants, models
   * @param closed - labels whose values are from a list of this program
   */
  at(open: Labels, closed: Labels = {}): Point<Value> {
    const known = this.#values.get(keyOf({ ...open, ...closed }));
    if (known !== undefined) return known;
    const isFull = this.#values.size >= maxSeries;
    const labels = { ...(isFull ? allOther(open) : open), ...closed };
    const key = keyOf(labels);
    const entry = this.#values.get(key) ?? { labels, value: this.#create() };
    this.#values.set(key, entry);
    return entry;
  }

  /** In the order of their first use. */
  get points(): Point<Value>[] {
    return [...this.#values.values()];
  }
}

function allOther(labels: Labels): Labels {
  return Object.fromEntries(Object.keys(labels).map((name) => [name, OTHER]));
}

function keyOf(labels: Labels): string {
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
