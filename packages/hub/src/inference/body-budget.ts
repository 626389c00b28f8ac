import { HubError } from "../errors.ts";

/** The bytes of request bodies in memory. Contract §6: at the limit, new requests are refused. */
export class BodyBudget {
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  hasRoomFor(bytes: number): boolean {
    return this.#bytes + bytes <= this.#maxBytes;
  }

  /** @throws HubError `hub_overloaded` */
  hold(bytes: number): void {
    if (!this.hasRoomFor(bytes)) {
      throw new HubError(
        "hub_overloaded",
        "The hub has reached its limit for request bodies in memory (ROOMHUB_HELD_BODY_BYTES).",
      );
    }
    this.#bytes += bytes;
  }

  release(bytes: number): void {
    this.#bytes -= bytes;
  }
}
