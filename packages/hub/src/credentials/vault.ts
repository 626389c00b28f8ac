import { inspect } from "node:util";

interface Deposit {
  origin: string;
  headers: Readonly<Record<string, string>>;
}

const nothing: Readonly<Record<string, string>> = Object.freeze({});

/**
 * The `authHeaders` of all participants, by participant key and bound to the endpoint's origin: they are sent only to
 * the provider they were given for. Interface §5, contract §3. Printing the vault shows nothing.
 *
 * A key stands for one registration and its token. A replaced registration has another key, so nothing is inherited.
 */
export class AuthHeaderVault {
  readonly #deposits = new Map<string, Deposit>();

  /** Replaces earlier headers; empty headers are the same as {@link drop}. */
  put(key: string, origin: string, headers: Readonly<Record<string, string>>): void {
    if (Object.keys(headers).length === 0) this.#deposits.delete(key);
    else this.#deposits.set(key, { origin, headers: Object.freeze({ ...headers }) });
  }

  /** Empty when the headers were given for another origin. */
  headersFor(key: string, origin: string): Readonly<Record<string, string>> {
    const deposit = this.#deposits.get(key);
    return deposit?.origin === origin ? deposit.headers : nothing;
  }

  has(key: string): boolean {
    return this.#deposits.has(key);
  }

  /** @returns whether there was something to drop */
  drop(key: string): boolean {
    return this.#deposits.delete(key);
  }

  /** The values to scrub from what this participant's provider says. */
  secretsOf(key: string): string[] {
    return Object.values(this.#deposits.get(key)?.headers ?? nothing);
  }

  toJSON(): string {
    return "[redacted]";
  }

  toString(): string {
    return "[redacted]";
  }

  [inspect.custom](): string {
    return "AuthHeaderVault [redacted]";
  }
}
