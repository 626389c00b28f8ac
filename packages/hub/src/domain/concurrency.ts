import { updateMachineLimit } from "./machine.ts";
import type { Participant, ReportedLoad } from "./participant.ts";

export const nothingReported: ReportedLoad = Object.freeze({
  limit: undefined,
  limitFrom: "engine",
  elsewhere: 0,
});

/**
 * Sets how many requests may run at once at a participant: as many as it declares, else as its model server reports, else
 * the hub's default, which also bounds what is reported.
 */
export function updateLimit(participant: Participant, defaultLimit: number): void {
  setLimit(participant, defaultLimit);
  if (participant.machine !== undefined) updateMachineLimit(participant.machine);
}

function setLimit(participant: Participant, defaultLimit: number): void {
  const { config, reported } = participant;
  if (config.maxConcurrency !== undefined) {
    participant.limit = config.maxConcurrency;
    participant.limitFrom = "declared";
  } else if (reported.limit !== undefined) {
    participant.limit = Math.min(reported.limit, defaultLimit);
    participant.limitFrom = reported.limitFrom;
  } else {
    participant.limit = defaultLimit;
    participant.limitFrom = "default";
  }
}
