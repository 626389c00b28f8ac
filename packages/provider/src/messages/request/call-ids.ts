/** The form of a call's id in Anthropic's API. */
const grammar = /^[a-zA-Z0-9_-]{1,64}$/;
/** Holds the provider's id in base64url, since nothing is stored between two requests. */
const encoded = /^toolu_rh_([a-zA-Z0-9_-]+)$/;
const maxEncodedBytes = 96;

/** The provider's id of a call, from the id that the client has for it. */
export function providerCallId(clientId: string): string {
  const text = encoded.exec(clientId)?.[1];
  if (text === undefined) return clientId;
  const id = Buffer.from(text, "base64url").toString("utf8");
  return encodedId(id) === clientId ? id : clientId;
}

/** Gives each call of a response the id that the client sees, unique in the conversation. */
export class CallIds {
  readonly #taken: Set<string>;
  readonly #newId: () => string;

  /** @param known - the ids in the request, as the client has them; @param newId - `toolu_…` */
  constructor(known: ReadonlySet<string>, newId: () => string) {
    this.#taken = new Set(known);
    this.#newId = newId;
  }

  /** @param providerId - empty when it gave none */
  clientId(providerId: string): string {
    const wanted = grammar.test(providerId) ? providerId : encodedId(providerId);
    const id = wanted === undefined || this.#taken.has(wanted) ? this.#newId() : wanted;
    this.#taken.add(id);
    return id;
  }
}

/** @returns undefined for an empty id, and for one that is too long */
function encodedId(providerId: string): string | undefined {
  const bytes = Buffer.from(providerId, "utf8");
  const isWhole = bytes.length > 0 && bytes.length <= maxEncodedBytes;
  return isWhole ? `toolu_rh_${bytes.toString("base64url")}` : undefined;
}
