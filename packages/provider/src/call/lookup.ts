import { lookup as dnsLookup, type LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";

/** Why an address may not be dialled, or undefined when it may. */
export type AddressProblem = (address: string) => string | undefined;

class AddressRefusedError extends Error {
  override readonly name = "AddressRefusedError";
  readonly code = "ERR_ADDRESS_REFUSED";
}

/**
 * Name → the addresses that may be dialled. Only those leave here, so what was checked is what is connected.
 *
 * `localhost` is resolved without the system: both families are tried whatever the hosts file says.
 */
export function createLookup(addressProblem: AddressProblem | undefined): LookupFunction {
  return (hostname, options, callback) => {
    if (hostname === "localhost") {
      // Node expects the response after the call, as from the real one.
      process.nextTick(respond, null, [
        { address: "127.0.0.1", family: 4 },
        { address: "::1", family: 6 },
      ]);
      return;
    }
    dnsLookup(hostname, { all: true, family: options.family, hints: options.hints }, respond);

    function respond(error: NodeJS.ErrnoException | null, found: LookupAddress[]): void {
      if (error !== null) return callback(error, []);
      const allowed = found.filter(({ address }) => addressProblem?.(address) === undefined);
      const first = allowed[0];
      if (first === undefined) {
        const problems = new Set(found.map(({ address }) => addressProblem?.(address)));
        return callback(new AddressRefusedError([...problems].join("; ")), []);
      }
      return options.all === true
        ? callback(null, allowed)
        : callback(null, first.address, first.family);
    }
  };
}
