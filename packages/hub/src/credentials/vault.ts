import { inspect } from "node:util";

interface Deposit {
  origin: string;
  headers: Readonly<Record<string, string>>;
}

/** Shorter texts are no secrets, and scrubbing a `1` or `true` would ruin what a provider says. */
const shortestSecret = 6;

const nothing: Readonly<Record<string, string>> = Object.freeze({});

/**
 * The `authHeaders` of all participants, by owner and bound to the endpoint's origin: they leave only towards the
 * provider they were given for. Interface §5, contract §3. Printing the vault shows nothing.
 *
 * An owner key stands for one registration and its token; a taken-over id has another key and inherits nothing.
 */
export class AuthHeaderVault {
  readonly #deposits = new Map<string, Deposit>();

  /** Replaces what was there; no headers is the same as {@link drop}. */
  put(key: string, origin: string, headers: Readonly<Record<string, string>>): void {
    if (Object.keys(headers).length === 0) this.#deposits.delete(key);
    else this.#deposits.set(key, { origin, headers: Object.freeze({ ...headers }) });
  }

  /** None when they were given for another origin. */
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

  /** Every text to scrub from what this participant's provider says: values, and what follows a scheme such as `Bearer`. */
  secretsOf(key: string): string[] {
    const values = Object.values(this.#deposits.get(key)?.headers ?? nothing);
    const secrets = values
      .flatMap((value) => textsOf(value))
      .filter((secret) => secret.length >= shortestSecret);
    // Longest first: scrubbing a part before the whole would leave the rest of the whole standing.
    return [...new Set(secrets)].sort((one, other) => other.length - one.length);
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

/** `Bearer abc` also gives `abc`; Basic credentials also the decoded pair and the password in it. */
function textsOf(value: string): string[] {
  const match = /^(bearer|basic|token|apikey|api-key) +(\S.*)$/i.exec(value);
  const secret = match?.[2]?.trim();
  if (match === null || secret === undefined) return [value];
  if (match[1]?.toLowerCase() !== "basic") return [value, secret];
  const pair = Buffer.from(secret, "base64").toString("utf8");
  return [value, secret, pair, pair.slice(pair.indexOf(":") + 1)];
}
