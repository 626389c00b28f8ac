import { type AddressClass, classifyAddress, destinationOf } from "@roomhub/provider";
import { isIP } from "node:net";
import type { DirectPath, Registrant, Registration } from "../../domain/participant.ts";

/** How far a participant's registration reaches. Contract §3: decided by where it came from. */
export type DialRight = "loopback" | "private" | "public" | "elsewhere";

export const DIAL_RIGHTS: readonly DialRight[] = ["loopback", "private", "public", "elsewhere"];

/**
 * A web page may make any browser register anything: it gets no nearer than the public internet. Neither does who registered
 * at another computer: its loopback and private addresses may be others here.
 */
export function dialRightOf(
  registrant: Pick<Registrant, "address" | "hasOrigin" | "computer">,
): DialRight {
  if (registrant.computer !== undefined) return "elsewhere";
  if (registrant.hasOrigin || registrant.address === undefined) return "public";
  switch (classifyAddress(registrant.address)) {
    case "loopback":
      return "loopback";
    case "private":
      return "private";
    case "public":
    case "refused":
      return "public";
  }
}

/**
 * Why an address may not be dialled, or undefined. Called with every literal and every resolved address; the checked
 * address is the dialled one. Contract §3.
 *
 * @param classify - knows this machine's own addresses: they count as loopback
 */
export function addressProblem(
  right: DialRight,
  address: string,
  classify: (address: string) => AddressClass,
): string | undefined {
  switch (classify(address)) {
    case "public":
      return undefined;
    case "private":
      if (right === "elsewhere") return joinedElsewhere(`${address} is a private address`);
      return right === "public"
        ? `${address} is a private address, and this registration did not come from a private network`
        : undefined;
    case "loopback":
      if (right === "elsewhere") return joinedElsewhere(`${address} is this hub's own machine`);
      return right === "loopback"
        ? undefined
        : `${address} is this hub's own machine, and this registration did not come from its loopback address`;
    case "refused":
      return `${address} is an address the hub never dials`;
  }
}

function joinedElsewhere(what: string): string {
  return `${what}, and this registration was made at another one: join again`;
}

/** What can be said before dialling. A host name is judged when it is resolved. */
export function directPathOf(
  participant: Pick<Registration, "baseUrl" | "isTunnelOnly" | "registrant">,
  isDirectEnabled: boolean,
  classify: (address: string) => AddressClass,
): DirectPath {
  if (participant.isTunnelOnly) return { kind: "refused", reason: "its tunnel is closed" };
  if (!isDirectEnabled) {
    return {
      kind: "refused",
      reason: "it has no tunnel, and this hub does not call endpoints itself (--no-direct)",
    };
  }
  const host = new URL(participant.baseUrl).hostname.replace(/^\[|\]$/g, "");
  const address = host === "localhost" || host.endsWith(".localhost") ? "127.0.0.1" : host;
  if (isIP(address) === 0) return { kind: "untried" };
  const problem = addressProblem(dialRightOf(participant.registrant), address, classify);
  return problem === undefined ? { kind: "untried" } : { kind: "refused", reason: problem };
}

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
