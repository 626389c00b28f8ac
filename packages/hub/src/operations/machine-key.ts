import type { Participant } from "../domain/participant.ts";
import type { OperationContext } from "./context.ts";

/**
 * Finds out with which others a participant shares a model server: those whose agent proves the same machine, or, where
 * the hub dials, those with the same endpoint, credentials and registering address. Contract §3, "Machines".
 */
export function assignMachine(context: OperationContext, participant: Participant): void {
  context.machines.assign(participant, machineKey(context, participant));
}

function machineKey(
  { keyedHash, vault }: OperationContext,
  { key, endpointOrigin, isTunnelOnly, machineDigest, registrant }: Participant,
): string | undefined {
  if (machineDigest !== undefined) {
    return keyedHash("machine", Buffer.from(machineDigest).toString("hex"));
  }
  // An agent that proves no machine: its endpoint says nothing here.
  if (isTunnelOnly) return undefined;
  const credentials = Object.entries(vault.headersFor(key, endpointOrigin)).sort(([one], [other]) =>
    one < other ? -1 : 1,
  );
  const place = [endpointOrigin, registrant.address ?? registrant.throttleKey, credentials];
  return keyedHash("machine", JSON.stringify(place));
}
