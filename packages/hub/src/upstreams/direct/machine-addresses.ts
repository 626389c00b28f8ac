import { type AddressClass, classifyAddress, destinationOf } from "@roomhub/provider";

/** Reading the interfaces costs a third of a millisecond, and every call needs them. */
const freshMs = 1_000;
const maxKnown = 1_024;

/** Judges addresses by where they lead from this machine; those of its own interfaces lead to itself. Contract §3. */
export class MachineAddresses {
  readonly #readInterfaces: () => Iterable<string>;
  readonly #nowMs: () => number;
  #own: ReadonlySet<string> = new Set();
  #readAtMs = Number.NEGATIVE_INFINITY;
  /** of `#own` as it is */
  readonly #known = new Map<string, AddressClass>();

  /** @param readInterfaces - the addresses of all interfaces, now: networks come and go */
  constructor(readInterfaces: () => Iterable<string>, nowMs: () => number) {
    this.#readInterfaces = readInterfaces;
    this.#nowMs = nowMs;
  }

  classify(address: string): AddressClass {
    this.#refresh();
    const known = this.#known.get(address);
    if (known !== undefined) return known;
    if (this.#known.size === maxKnown) this.#known.clear();
    const found = classifyAddress(address, this.#own);
    this.#known.set(address, found);
    return found;
  }

  #refresh(): void {
    const nowMs = this.#nowMs();
    if (nowMs - this.#readAtMs < freshMs) return;
    this.#readAtMs = nowMs;
    const own = new Set<string>();
    for (const address of this.#readInterfaces()) {
      const end = destinationOf(address);
      if (end !== undefined) own.add(end);
    }
    if (own.size === this.#own.size && [...own].every((each) => this.#own.has(each))) return;
    this.#own = own;
    this.#known.clear();
  }
}
