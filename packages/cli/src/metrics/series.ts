/** Label names and values of one series. */
export type Labels = Readonly<Record<string, string>>;

/** The value of a metric for one combination of labels. */
export interface Point<Value> {
  labels: Labels;
  value: Value;
}

/** Stands for the values of labels beyond {@link maxSeries}. */
export const OTHER = "other";

/** Series with labels of their own per metric; further ones share those whose open labels are {@link OTHER}. */
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
  at(open: Labels, closed: Labels = {}): Value {
    const known = this.#values.get(keyOf({ ...open, ...closed }));
    if (known !== undefined) return known.value;
    const isFull = this.#values.size >= maxSeries;
    const labels = { ...(isFull ? allOther(open) : open), ...closed };
    const key = keyOf(labels);
    const entry = this.#values.get(key) ?? { labels, value: this.#create() };
    this.#values.set(key, entry);
    return entry.value;
  }

  /** In the order of their first use. */
  points<Shown>(shown: (value: Value) => Shown): Point<Shown>[] {
    return [...this.#values.values()].map(({ labels, value }) => ({ labels, value: shown(value) }));
  }
}

function allOther(labels: Labels): Labels {
  return Object.fromEntries(Object.keys(labels).map((name) => [name, OTHER]));
}

function keyOf(labels: Labels): string {
  return JSON.stringify(Object.values(labels));
}
