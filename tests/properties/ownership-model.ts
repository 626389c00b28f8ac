import type { Claim } from "./hub-actions.ts";
import { isLive, type Person } from "./room-model.ts";

/** Contract §3, "Ownership", in `compat`: all callers here have the same address, unless an untrusted proxy hides it. */
function hasProof(person: Person, claim: Claim): boolean {
  return claim === "owner" || (claim === "neighbour" && person.isNear);
}

export function updateStatus(person: Person, claim: Claim): number {
  return hasProof(person, claim) ? 200 : 403;
}

export function joinStatus(known: Person | undefined, claim: Claim, hasPassword: boolean): number {
  if (known !== undefined && claim === "thief") return 403;
  if (known !== undefined && claim === "owner") return 200;
  if (!hasPassword) return 401;
  if (known === undefined) return 201;
  if (hasProof(known, claim)) return 200;
  return isLive(known) ? 409 : 201;
}
