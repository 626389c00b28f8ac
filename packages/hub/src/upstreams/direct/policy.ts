import { type AddressClass, classifyAddress, destinationOf } from "@roomhub/provider";
import { isIP } from "node:net";
import type { DirectPath, Registrant, Registration } from "../../domain/participant.ts";

/** Which addresses the hub may dial for a participant. Contract §3: decided by where the registration came from. */
export type DialRight = "loopback" | "private" | "public" | "elsewhere";

export const DIAL_RIGHTS: readonly DialRight[] = ["loopback", "private", "public", "elsewhere"];

/**
 * A web page may make any browser register anything, so it reaches only public addresses. So does a registration from
 * another computer: its loopback and private addresses mean other machines here.
 */
export function dialRightOf(
  registrant: Pick<Registrant, "address" | "hasOrigin" | "computer">,
): DialRight {
  if (registrant.computer !== undefined) return "elsewhere";
  if (registrant.hasOrigin || registrant.address === undefined) return "public";
  const from = classifyAddress(registrant.address);
  return from === "refused" ? "public" : from;
}

/**
 * Why an address may not be dialled; undefined when it may. Called with every literal and every resolved address: the
 * checked address is the dialled one. Contract §3.
 *
 * @param classify - knows this machine's addresses, which count as loopback
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

/** What is known before dialling. A host name is judged when it is resolved. */
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

/** Classifies addresses as seen from this machine: the addresses of its interfaces lead to itself. Contract §3. */
export class MachineAddresses {
  readonly #readInterfaces: () => Iterable<string>;
  readonly #nowMs: () => number;
  #local: ReadonlySet<string> = new Set();
  #readAtMs = Number.NEGATIVE_INFINITY;
  /** of the current `#local` */
  readonly #known = new Map<string, AddressClass>();

  /** @param readInterfaces - the addresses of all interfaces at the moment: networks come and go */
  constructor(readInterfaces: () => Iterable<string>, nowMs: () => number) {
    this.#readInterfaces = readInterfaces;
    this.#nowMs = nowMs;
  }

  classify(address: string): AddressClass {
    this.#refresh();
    const known = this.#known.get(address);
    if (known !== undefined) return known;
    if (this.#known.size === maxKnown) this.#known.clear();
    const found = classifyAddress(address, this.#local);
    this.#known.set(address, found);
    return found;
  }

  #refresh(): void {
    const nowMs = this.#nowMs();
    if (nowMs - this.#readAtMs < freshMs) return;
    this.#readAtMs = nowMs;
    const local = new Set<string>();
    for (const address of this.#readInterfaces()) {
      const end = destinationOf(address);
      if (end !== undefined) local.add(end);
    }
    if (local.size === this.#local.size && [...local].every((each) => this.#local.has(each)))
      return;
    this.#local = local;
    this.#known.clear();
  }
}
