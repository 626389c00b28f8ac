/** The entries of the newest of one or more versions. */
interface Store<Value> {
  readonly entries: Map<string, Value>;
  /** by key, ascending in the order of `entries`, so that an older version can put a removed entry back in its place */
  readonly orders: Map<string, number>;
  nextOrder: number;
  /** since the entries were copied */
  changes: number;
}

/** The one entry in which this version differs from the next one. */
interface Older<Value> {
  readonly next: VersionedMap<Value>;
  readonly key: string;
  readonly before: { readonly value: Value; readonly order: number } | undefined;
}

/** After so many changes, plus one per entry, the entries are copied, so that old versions do not keep all later changes. */
const copiedAfter = 1_000;

/**
 * An immutable map whose changes take constant time: the newest version holds the entries, and each older version holds how
 * it differs from the next. Only iterating over an older version copies the entries.
 *
 * An entry that is set again keeps its place.
 */
export class VersionedMap<Value> implements ReadonlyMap<string, Value> {
  readonly size: number;
  #content: Store<Value> | Older<Value>;

  private constructor(content: Store<Value>) {
    this.#content = content;
    this.size = content.entries.size;
  }

  /** The same map when it is one already; else a copy. */
  static from<Value>(map: ReadonlyMap<string, Value>): VersionedMap<Value> {
    return map instanceof VersionedMap ? map : new VersionedMap(storeOf(map));
  }

  with(key: string, value: Value): VersionedMap<Value> {
    const store = this.#storeToChange();
    const before = entryAt(store, key);
    store.entries.set(key, value);
    if (before === undefined) store.orders.set(key, store.nextOrder++);
    return this.#changedTo(store, key, before);
  }

  /** The same map when it has no such entry. */
  without(key: string): VersionedMap<Value> {
    if (!this.has(key)) return this;
    const store = this.#storeToChange();
    const before = entryAt(store, key);
    store.entries.delete(key);
    store.orders.delete(key);
    return this.#changedTo(store, key, before);
  }

  get(key: string): Value | undefined {
    let content = this.#content;
    while ("next" in content) {
      if (content.key === key) return content.before?.value;
      content = content.next.#content;
    }
    return content.entries.get(key);
  }

  has(key: string): boolean {
    let content = this.#content;
    while ("next" in content) {
      if (content.key === key) return content.before !== undefined;
      content = content.next.#content;
    }
    return content.entries.has(key);
  }

  forEach(callback: (value: Value, key: string, map: ReadonlyMap<string, Value>) => void): void {
    for (const [key, value] of this) callback(value, key, this);
  }

  entries(): MapIterator<[string, Value]> {
    return this.#store().entries.entries();
  }

  keys(): MapIterator<string> {
    return this.#store().entries.keys();
  }

  values(): MapIterator<Value> {
    return this.#store().entries.values();
  }

  [Symbol.iterator](): MapIterator<[string, Value]> {
    return this.entries();
  }

  #changedTo(store: Store<Value>, key: string, before: Older<Value>["before"]) {
    const next = new VersionedMap(store);
    // With a copied store, this version keeps the old one.
    if (this.#content === store) this.#content = { next, key, before };
    return next;
  }

  #storeToChange(): Store<Value> {
    const store = this.#store();
    if (store.changes >= store.entries.size + copiedAfter) return storeOf(store.entries);
    store.changes++;
    return store;
  }

  /** This version's entries; an older version copies them first and keeps the copy. */
  #store(): Store<Value> {
    if (!("next" in this.#content)) return this.#content;
    const differences: Older<Value>[] = [];
    let content: Store<Value> | Older<Value> = this.#content;
    while ("next" in content) {
      differences.push(content);
      content = content.next.#content;
    }
    const entries = new Map(content.entries);
    const orders = new Map(content.orders);
    for (const { key, before } of differences.toReversed()) {
      if (before === undefined) {
        entries.delete(key);
        orders.delete(key);
      } else {
        entries.set(key, before.value);
        orders.set(key, before.order);
      }
    }
    const orderOf = (key: string) => orders.get(key) ?? 0;
    const inOrder = [...entries].sort(([one], [other]) => orderOf(one) - orderOf(other));
    // Orders are kept: still older versions refer to them.
    const own = { ...content, entries: new Map(inOrder), orders, changes: 0 };
    this.#content = own;
    return own;
  }
}

function storeOf<Value>(map: ReadonlyMap<string, Value>): Store<Value> {
  const orders = new Map([...map.keys()].map((key, index) => [key, index]));
  return { entries: new Map(map), orders, nextOrder: map.size, changes: 0 };
}

function entryAt<Value>({ entries, orders }: Store<Value>, key: string): Older<Value>["before"] {
  const order = orders.get(key);
  return order === undefined ? undefined : { value: entries.get(key) as Value, order };
}
