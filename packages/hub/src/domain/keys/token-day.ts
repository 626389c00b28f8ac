/** What is stored of a day. */
interface StoredTokenDay {
  /** `YYYY-MM-DD`, local */
  day: string;
  tokens: number;
}

/** Requests that run may use up the rest: it is known when they end. */
const runningMs = 5_000;

/**
 * The tokens that one key spends in a day, which ends at the hub's local midnight. A request reserves what it is expected
 * to cost until it ends, so that parallel ones see each other. One object for all states of the key. Contract §9.
 */
export class TokenDay {
  readonly limit: number;
  #day = "";
  #spent = 0;
  /** the part of it that is stored, by this hub or another */
  #stored = 0;
  /** what may be on its way to the store, or was compared with it */
  #writing = new Set<number>();
  #reserved = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  spent(nowMs: number): number {
    this.#turn(dayOf(nowMs));
    return this.#spent;
  }

  /** @returns in how many ms another request may be admitted; 0 for now */
  waitMs(nowMs: number): number {
    if (this.spent(nowMs) >= this.limit) return nextDayMs(nowMs) - nowMs;
    return this.#spent + this.#reserved >= this.limit ? runningMs : 0;
  }

  /** @returns to be called once, with what the request cost when it has ended */
  reserve(tokens: number): (cost: number, nowMs: number) => void {
    this.#reserved += tokens;
    return (cost, nowMs) => {
      this.#reserved -= tokens;
      this.#turn(dayOf(nowMs));
      this.#spent += cost;
    };
  }

  get isStored(): boolean {
    return this.#spent === this.#stored;
  }

  /** What is to be written now; undefined for nothing. */
  toStore(): StoredTokenDay | undefined {
    this.#writing.add(this.#spent);
    return this.#spent === 0 ? undefined : { day: this.#day, tokens: this.#spent };
  }

  /** That is stored, by this hub or another one: what was spent here since then is added to it. */
  take({ day, tokens }: StoredTokenDay): void {
    if (day < this.#day) return;
    this.#turn(day);
    if (!this.#writing.has(tokens)) this.#spent += tokens - this.#stored;
    this.#stored = tokens;
    this.#writing = new Set([...this.#writing].filter((count) => count >= tokens));
  }

  #turn(day: string): void {
    if (day === this.#day) return;
    this.#day = day;
    this.#spent = 0;
    this.#stored = 0;
    this.#writing.clear();
  }
}

/** @param epochMs - @returns `YYYY-MM-DD`, local */
export function dayOf(epochMs: number): string {
  const date = new Date(epochMs);
  const parts = [date.getFullYear(), date.getMonth() + 1, date.getDate()];
  return parts.map((part) => String(part).padStart(2, "0")).join("-");
}

/** @returns epoch ms */
export function nextDayMs(epochMs: number): number {
  const date = new Date(epochMs);
  return new Date(date.getFullYear(), date.getMonth(), date.getDate() + 1).getTime();
}
