import { inspect } from "node:util";

const redacted = "[redacted]";

/**
 * A text that must not leave by accident: printed, logged, interpolated or serialised it is `[redacted]`.
 * Code that needs it calls `reveal()`, so every use can be found by that word.
 */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return redacted;
  }

  toJSON(): string {
    return redacted;
  }

  [inspect.custom](): string {
    return redacted;
  }
}
