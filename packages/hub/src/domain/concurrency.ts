import type { Limits } from "@roomhub/protocol";
import { updateMachineLimit } from "./machine.ts";
import type { Participant, ReportedLoad } from "./participant.ts";

export const nothingReported: ReportedLoad = Object.freeze({
  limit: undefined,
  limitFrom: "engine",
  elsewhere: 0,
});

/** How many requests run at once where a participant declares nothing. */
type ConcurrencyLimits = Pick<Limits, "assumedConcurrency" | "inFlightPerParticipant">;

/**
 * Sets how many requests may run at once at a participant: as many as it declares, else as its model server reports, else
 * as are assumed; the last two are bounded by the hub. Contract §3, "Limit of a participant".
 */
export function updateLimit(participant: Participant, limits: ConcurrencyLimits): void {
  setLimit(participant, limits);
  if (participant.machine !== undefined) updateMachineLimit(participant.machine);
}

function setLimit(
  participant: Participant,
  { assumedConcurrency, inFlightPerParticipant }: ConcurrencyLimits,
): void {
  const { config, reported } = participant;
  if (config.maxConcurrency !== undefined) {
    participant.limit = config.maxConcurrency;
    participant.limitFrom = "declared";
  } else if (reported.limit !== undefined) {
    participant.limit = Math.min(reported.limit, inFlightPerParticipant);
    participant.limitFrom = reported.limitFrom;
  } else {
    participant.limit = Math.min(assumedConcurrency, inFlightPerParticipant);
    participant.limitFrom = "default";
  }
}
