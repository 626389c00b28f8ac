/** Work for one key runs one after the other, for different keys at the same time. */
export class OneByOne {
  /** by key: the last work, whatever its result */
  readonly #last = new Map<string, Promise<unknown>>();

  /** Settles as `work` does. Work begins when earlier work of this key has settled. */
  run<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const done = (this.#last.get(key) ?? Promise.resolve()).then(work);
    const last = done.then(ignore, ignore).finally(() => {
      if (this.#last.get(key) === last) this.#last.delete(key);
    });
    this.#last.set(key, last);
    return done;
  }
}

function ignore(): void {}
