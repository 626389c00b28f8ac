/** A longer key would make the memory depend on what clients send. */
const maxKeyLength = 256;

/**
 * The values that were used last: at least `size` of them, at most twice as many. Two maps that take turns, because to
 * move an entry on each use costs more than the lookup.
 */
export class RecentValues<Value> {
  readonly #size: number;
  #recent = new Map<string, Value>();
  #older = new Map<string, Value>();

  constructor(size: number) {
    this.#size = size;
  }

  get(key: string): Value | undefined {
    const recent = this.#recent.get(key);
    if (recent !== undefined) return recent;
    const older = this.#older.get(key);
    if (older !== undefined) this.set(key, older);
    return older;
  }

  /** Keys over 256 characters are not kept. */
  set(key: string, value: Value): void {
    if (key.length > maxKeyLength) return;
    if (this.#recent.size >= this.#size) {
      this.#older = this.#recent;
      this.#recent = new Map();
    }
    this.#recent.set(key, value);
  }
}
