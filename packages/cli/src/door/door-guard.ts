import { timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

/** What the door itself says in place of the hub. */
export interface DoorRefusal {
  status: number;
  code: string;
  message: string;
  /** the next step */
  hint: string;
  /** undefined: trying again does not help */
  retryAfterSeconds?: number;
  /** the parameter that is wrong */
  param?: string;
}

export interface DoorRules {
  /** what clients send as their API key */
  key: string;
  /** of pages that may use the door, such as `http://localhost:3000` */
  origins: readonly string[];
  /** the command that opened the door, and printed its URL and key */
  openedBy: string;
  /** how a client gets the key, as the next step */
  keyHint: string;
}

/** A name that resolves to this machine is another name in the browser, which then sends it as the host. */
const loopbackHost = /^(?:127(?:\.\d{1,3}){3}|\[::1\]|localhost)(?::\d{1,5})?$/i;

/**
 * Keeps pages and other users of the machine out: a page cannot choose `Host` and `Origin`, and another user does not know
 * the key.
 */
export class DoorGuard {
  readonly #rules: DoorRules;
  readonly #key: Buffer;

  constructor(rules: DoorRules) {
    this.#rules = rules;
    this.#key = Buffer.from(rules.key);
  }

  /** Why a request does not pass, before its key is looked at. */
  refusalOfPage({ host = "", origin }: IncomingHttpHeaders): DoorRefusal | undefined {
    if (!loopbackHost.test(host)) {
      return {
        ...{ status: 403, code: "host_not_allowed" },
        message: "This door serves programs of its own machine, by a loopback address.",
        hint: `use the URL that ${this.#rules.openedBy} printed, with 127.0.0.1 in it`,
      };
    }
    if (origin === undefined || this.allows(origin)) return undefined;
    return {
      ...{ status: 403, code: "origin_not_allowed" },
      message: "This door serves no web pages of this origin.",
      hint: "if the page is yours, start the door again with --allow-origin and its origin",
    };
  }

  /** Whether a page of this origin may use the door. */
  allows(origin: string | undefined): origin is string {
    return origin !== undefined && this.#rules.origins.includes(origin);
  }

  /** Why a request with these headers does not pass. */
  refusalOfKey(headers: IncomingHttpHeaders): DoorRefusal | undefined {
    if (this.#hasKey(headers)) return undefined;
    return {
      ...{ status: 401, code: "invalid_api_key" },
      message: `This door requires its own API key, which ${this.#rules.openedBy} printed.`,
      hint: this.#rules.keyHint,
    };
  }

  #hasKey(headers: IncomingHttpHeaders): boolean {
    const bearer = /^Bearer +(\S+)$/i.exec(headers.authorization ?? "")?.[1];
    return this.#isKey(bearer) || this.#isKey(headers["x-api-key"] ?? headers["api-key"]);
  }

  /** The comparison reveals only the length of a key, which everyone knows. */
  #isKey(given: string | string[] | undefined): boolean {
    if (typeof given !== "string") return false;
    const bytes = Buffer.from(given);
    return bytes.length === this.#key.length && timingSafeEqual(bytes, this.#key);
  }
}

/** What is the client's own business with the door; cookies of a page belong to other servers of this machine. */
const notForwarded = new Set([
  "host",
  "authorization",
  "x-api-key",
  "api-key",
  "origin",
  "cookie",
  "referer",
]);

/**
 * The header fields of a request for the hub.
 *
 * @param passing - names and values in turn, none of one connection alone
 * @param own - headers that the door sets, in the same form
 */
export function fieldsForHub(passing: readonly string[], own: readonly string[]): string[] {
  const fields = [...own];
  for (let index = 0; index + 1 < passing.length; index += 2) {
    const name = passing[index] ?? "";
    if (!notForwarded.has(name.toLowerCase())) fields.push(name, passing[index + 1] ?? "");
  }
  return fields;
}
