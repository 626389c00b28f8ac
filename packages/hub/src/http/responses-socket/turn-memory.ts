import { HubError } from "../../errors.ts";
import type { BodyBudget } from "../../inference/body-budget.ts";

/**
 * The last turn of one socket: what a next one may build upon, though no provider keeps it. Items are JSON without the
 * brackets of their array.
 */
export class TurnMemory {
  readonly #bodies: BodyBudget;
  readonly #maxBytes: number;
  #turn: { responseId: string; items: Buffer } | undefined;

  /** @param bodies - where the bytes count as held */
  constructor(bodies: BodyBudget, maxBytes: number) {
    this.#bodies = bodies;
    this.#maxBytes = maxBytes;
  }

  /** Everything said up to this response, and the response; undefined when it is not the remembered one. */
  itemsUpTo(responseId: string): Buffer | undefined {
    return this.#turn?.responseId === responseId ? this.#turn.items : undefined;
  }

  /**
   * In place of the turn before.
   *
   * @returns whether there was room; if not, nothing is remembered
   */
  remember(responseId: string, parts: readonly Buffer[]): boolean {
    this.forget();
    const items = joinItems(parts);
    if (items.length > this.#maxBytes) return false;
    try {
      this.#bodies.hold(items.length);
    } catch (thrown) {
      // Requests come first: this turn just cannot be continued by its id.
      if (thrown instanceof HubError) return false;
      throw thrown;
    }
    this.#turn = { responseId, items };
    return true;
  }

  forget(): void {
    if (this.#turn === undefined) return;
    this.#bodies.release(this.#turn.items.length);
    this.#turn = undefined;
  }
}

const comma = Buffer.from(",");

/** Lists of items, one behind the other. */
export function joinItems(parts: readonly Buffer[]): Buffer {
  const filled = parts.filter(({ length }) => length > 0);
  return Buffer.concat(filled.flatMap((part, index) => (index === 0 ? [part] : [comma, part])));
}
