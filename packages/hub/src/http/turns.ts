/** A burst of requests is read in one turn of the event loop; what came before it is not held up by all of them. */
const mostPerTurn = 16;

/** So many requests begin in one turn, further ones in the turns after it, in their order. */
export class Turns<Item> {
  readonly #begin: (item: Item) => void;
  readonly #waiting: Item[] = [];
  #begun = 0;
  #scheduled = false;
  readonly #onTurn = (): void => this.#nextTurn();

  constructor(begin: (item: Item) => void) {
    this.#begin = begin;
  }

  take(item: Item): void {
    if (this.#begun === mostPerTurn) {
      this.#waiting.push(item);
      return;
    }
    this.#begun++;
    this.#schedule();
    this.#begin(item);
  }

  #nextTurn(): void {
    this.#scheduled = false;
    const due = this.#waiting.splice(0, mostPerTurn);
    this.#begun = due.length;
    if (due.length > 0) this.#schedule();
    for (const item of due) this.#begin(item);
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(this.#onTurn);
  }
}
