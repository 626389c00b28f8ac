import { HubError } from "../../errors.ts";

/** Contract §7. */
const usualMaxWaitMs = 10_000;

/** Something that is made with the first request for it, once for all that wait, and again after a failure. */
export class MadeOnce<T> {
  readonly #what: string;
  readonly #make: () => Promise<T>;
  readonly #maxWaitMs: number;
  #making: Promise<T> | undefined;
  #made: T | undefined;

  /**
   * @param what - for errors: `The program`
   * @param maxWaitMs - a request waits so long for what is being made; making it goes on
   */
  constructor(what: string, make: () => Promise<T>, maxWaitMs: number = usualMaxWaitMs) {
    this.#what = what;
    this.#make = make;
    this.#maxWaitMs = maxWaitMs;
  }

  /** undefined until it is made */
  get made(): T | undefined {
    return this.#made;
  }

  /** @throws HubError `handout_unavailable` */
  async get(): Promise<T> {
    if (this.#made !== undefined) return this.#made;
    this.#making ??= this.#start();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(this.#unavailable("is still being built")), this.#maxWaitMs);
    });
    try {
      return await Promise.race([this.#making, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #start(): Promise<T> {
    try {
      this.#made = await this.#make();
      return this.#made;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw this.#unavailable(`could not be built: ${reason}`, error);
    } finally {
      this.#making = undefined;
    }
  }

  #unavailable(problem: string, cause?: unknown): HubError {
    return new HubError("handout_unavailable", `${this.#what} ${problem}.`, {
      hint: "Try again in a moment.",
      cause,
    });
  }
}
