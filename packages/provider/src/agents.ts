import { lookup as dnsLookup, type LookupAddress } from "node:dns";
import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import type { LookupFunction, Socket } from "node:net";

/** Contract §3: servers drop idle sockets after 5 s (Node's default); ours go before that. */
const idleSocketMs = 4_000;

/**
 * How long each address but the last is tried. With Node's 250 ms a busy server is given up too early: when its queue of
 * connections is full the first packet is lost, and the system sends it again after 1 s.
 */
const addressAttemptMs = 3_000;

export interface AgentPair {
  plain: HttpAgent;
  secure: HttpsAgent;
}

/**
 * Sockets that are kept for the next request, 4 s at most. Whoever takes one out of the pool calls
 * {@link takeFromPool} on it.
 */
export function createPooledAgents(lookup: LookupFunction): AgentPair {
  const options = {
    lookup,
    keepAlive: true,
    noDelay: true,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: addressAttemptMs,
    timeout: idleSocketMs,
  };
  const pair = { plain: new HttpAgent(options), secure: new HttpsAgent(options) };
  pair.plain.on("free", watchIdleSocket);
  pair.secure.on("free", watchIdleSocket);
  return pair;
}

/** Sockets of one request each. */
export function createFreshAgents(lookup: LookupFunction): AgentPair {
  const options = {
    lookup,
    keepAlive: false,
    noDelay: true,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: addressAttemptMs,
  };
  return { plain: new HttpAgent(options), secure: new HttpsAgent(options) };
}

export function takeFromPool(socket: Socket): void {
  socket.off("data", destroyTalkative);
}

function watchIdleSocket(socket: Socket): void {
  // A request that was cancelled before it got its socket frees it a second time.
  takeFromPool(socket);
  if (!socket.destroyed) socket.on("data", destroyTalkative);
}

/** Bytes nobody asked for would become the beginning of the next request's answer. */
function destroyTalkative(this: Socket): void {
  this.destroy();
}

/** Why an address may not be dialled, or undefined when it may. */
export type AddressProblem = (address: string) => string | undefined;

class AddressRefusedError extends Error {
  override readonly name = "AddressRefusedError";
  readonly code = "ERR_ADDRESS_REFUSED";
}

/**
 * Name → the addresses that may be dialled. Only those leave here, so what was checked is what is connected.
 *
 * `localhost` is answered without the system: both families are tried whatever the hosts file says.
 */
export function createLookup(addressProblem: AddressProblem | undefined): LookupFunction {
  return (hostname, options, callback) => {
    if (hostname === "localhost") {
      // Node expects the answer after the call, as from the real one.
      process.nextTick(answer, null, [
        { address: "127.0.0.1", family: 4 },
        { address: "::1", family: 6 },
      ]);
      return;
    }
    dnsLookup(hostname, { all: true, family: options.family, hints: options.hints }, answer);

    function answer(error: NodeJS.ErrnoException | null, found: LookupAddress[]): void {
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
