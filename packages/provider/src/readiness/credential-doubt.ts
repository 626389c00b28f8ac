const enoughRefusals = 3;
const enoughMs = 10_000;

/**
 * Refusals of calls whose credentials had worked, since the last call that succeeded. Contract §3: one may be about the
 * request, three of two clients are about the credentials. Reads no clock.
 */
export class CredentialDoubt {
  #count = 0;
  #firstMs = 0;
  #lastMs = 0;
  #firstClient = "";
  #areFromOneClient = true;
  #status: number | undefined;

  /** of the last refusal; undefined without one */
  get status(): number | undefined {
    return this.#status;
  }

  get isProven(): boolean {
    const isLong = this.#lastMs - this.#firstMs >= enoughMs;
    return this.#count >= enoughRefusals && isLong && !this.#areFromOneClient;
  }

  /** @param client - whose request it was */
  note(status: number, client: string, nowMs: number): void {
    if (this.#count === 0) {
      this.#firstMs = nowMs;
      this.#firstClient = client;
    }
    this.#count++;
    this.#lastMs = nowMs;
    this.#areFromOneClient &&= client === this.#firstClient;
    this.#status = status;
  }

  end(): void {
    this.#count = 0;
    this.#areFromOneClient = true;
    this.#status = undefined;
  }
}
