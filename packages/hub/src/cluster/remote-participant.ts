import { checkEndpoint } from "@roomhub/protocol";
import { blankCounters } from "../domain/blank-counters.ts";
import type { Participant } from "../domain/participant.ts";
import { type Clocks, type ParticipantEntry, remoteFields } from "./participant-entry.ts";

/** Longer ones are refused at the join, by the hub that took it. */
const maxEndpointLength = 8 * 1024;

/** A participant of another hub, as this hub keeps it in its registry. */
export function remoteParticipant(
  entry: ParticipantEntry,
  revision: number,
  clocks: Clocks,
): Participant {
  const { owner, machineView, ...fields } = remoteFields(entry, clocks);
  return {
    ...fields,
    ...placeOf(entry.endpoint),
    roomCode: entry.roomCode,
    key: entry.key,
    remote: {
      ...{ owner, revision, elsewhere: 0, grant: undefined, machine: machineView },
      machineKey: entry.machineKey ?? undefined,
      hasSecrets: entry.hasSecrets,
    },
    joinedMs: 0,
    returning: undefined,
    credentials: { haveWorked: true, trial: undefined },
    lastContactMs: clocks.nowMs(),
    lastUsedMs: clocks.nowMs(),
    ...blankCounters(),
  };
}

/** Its entry has changed: so does what is known of it here. Requests of this hub, and what they measured, stay. */
export function updateRemote(
  participant: Participant,
  entry: ParticipantEntry,
  revision: number,
  clocks: Clocks,
): void {
  const { owner, machineView, ...fields } = remoteFields(entry, clocks);
  const { remote } = participant;
  const isSameOwner = remote?.owner?.bootId === owner?.bootId;
  Object.assign(participant, fields, placeOf(entry.endpoint));
  participant.remote = {
    owner,
    revision,
    // Another owner counts anew, and keeps no slot that the one before had promised.
    elsewhere: isSameOwner ? (remote?.elsewhere ?? 0) : 0,
    grant: isSameOwner ? remote?.grant : undefined,
    machine: machineView,
    machineKey: entry.machineKey ?? undefined,
    hasSecrets: entry.hasSecrets,
  };
}

/** What the hub would dial after it took the participant over. */
function placeOf(endpoint: string): Pick<Participant, "baseUrl" | "endpointOrigin"> {
  const checked = checkEndpoint(endpoint, maxEndpointLength);
  return checked.ok
    ? { baseUrl: checked.baseUrl, endpointOrigin: checked.origin }
    : { baseUrl: endpoint, endpointOrigin: endpoint };
}
