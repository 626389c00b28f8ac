const FIRST_SLOTS = 16;
/** A table that grew beyond this is freed with its last stream. */
const MAX_IDLE_SLOTS = 1_024;

/**
 * The streams of one tunnel by their id.
 *
 * Not a `Map`: V8 links each outgrown table of a map to the next one, and once one of them is in the old generation every
 * former stream stays alive until the next full collection. Here a slot is reused as soon as it is free.
 *
 * Ids are consecutive and rarely collide: an open-addressed table with the id as hash, linear probing and no tombstones.
 */
export class StreamTable<Stream extends { readonly id: number }> {
  #slots: (Stream | undefined)[] = [];
  #mask = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(id: number): Stream | undefined {
    return this.#slots[this.#slotOf(id)];
  }

  /** @param stream - with an id that is not in the table */
  add(stream: Stream): void {
    // At most half full, so that a search soon ends at a free slot.
    if (this.#size * 2 >= this.#slots.length)
      this.#resize(Math.max(FIRST_SLOTS, this.#slots.length * 2));
    this.#slots[this.#slotOf(stream.id)] = stream;
    this.#size += 1;
  }

  /** Does nothing for an unknown id. */
  delete(id: number): void {
    const slot = this.#slotOf(id);
    if (this.#slots[slot] === undefined) return;
    this.#slots[slot] = undefined;
    this.#size -= 1;
    if (this.#size === 0 && this.#slots.length > MAX_IDLE_SLOTS) this.#resize(0);
    else this.#fill(slot);
  }

  /** A copy: streams may be added and removed while it is read. */
  values(): Stream[] {
    return this.#slots.filter((stream) => stream !== undefined);
  }

  /** Moves streams up into the freed slot, or a search would stop before it finds them. */
  #fill(freed: number): void {
    let free = freed;
    let slot = (free + 1) & this.#mask;
    for (let next = this.#slots[slot]; next !== undefined; next = this.#slots[slot]) {
      const home = next.id & this.#mask;
      if (((slot - home) & this.#mask) >= ((slot - free) & this.#mask)) {
        this.#slots[free] = next;
        this.#slots[slot] = undefined;
        free = slot;
      }
      slot = (slot + 1) & this.#mask;
    }
  }

  /** The slot of this stream, or the free slot where it belongs. */
  #slotOf(id: number): number {
    let slot = id & this.#mask;
    for (;;) {
      const stream = this.#slots[slot];
      if (stream === undefined || stream.id === id) return slot;
      slot = (slot + 1) & this.#mask;
    }
  }

  /** @param count - a power of two, or 0 */
  #resize(count: number): void {
    const streams = this.values();
    this.#slots = Array.from({ length: count });
    this.#mask = Math.max(0, count - 1);
    for (const stream of streams) this.#slots[this.#slotOf(stream.id)] = stream;
  }
}
