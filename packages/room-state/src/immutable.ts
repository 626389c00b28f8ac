/** Copies a map with one entry set; an entry that is already there keeps its place. */
export function withEntry<Value>(
  map: ReadonlyMap<string, Value>,
  key: string,
  value: Value,
): ReadonlyMap<string, Value> {
  return new Map(map).set(key, value);
}

/** Copies a map without one entry; the same map when it has none. */
export function withoutEntry<Value>(
  map: ReadonlyMap<string, Value>,
  key: string,
): ReadonlyMap<string, Value> {
  if (!map.has(key)) return map;
  const copy = new Map(map);
  copy.delete(key);
  return copy;
}

/** The last `most` entries, with one more. */
export function appended<Entry>(list: readonly Entry[], entry: Entry, most: number): Entry[] {
  return [...(list.length < most ? list : list.slice(list.length - most + 1)), entry];
}
