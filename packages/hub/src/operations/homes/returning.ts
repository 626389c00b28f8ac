import type { Participant, Withheld } from "../../domain/participant.ts";
import { isComplete } from "../../domain/readiness.ts";
import { HubError } from "../../errors.ts";
import type { OperationContext } from "../context.ts";
import { announceUpdate } from "../presence.ts";

const nothing: Withheld = { authHeaders: false, instructions: false, machineSecret: false };

/**
 * A participant that lost its secrets with the hub that had them may give no sign of life: its agent joins again after
 * this error.
 *
 * @throws HubError `participant_not_found`
 */
export function requireComplete(participant: Participant): void {
  const { returning } = participant.presence;
  if (returning !== undefined && !isComplete(returning)) throw mustJoinAgain(participant);
}

/**
 * The token of an agent that joined while its hub could not store that is newer than the registration: its agent joins again
 * after this error.
 *
 * @throws HubError `participant_not_found`, while the participant is on its way here
 */
export function requireBack(participant: Participant): void {
  if (participant.presence.returning !== undefined) throw mustJoinAgain(participant);
}

function mustJoinAgain({ id, roomCode }: Participant): HubError {
  return new HubError(
    "participant_not_found",
    `The hub that ${id} had joined has stopped, so ${id} must join again.`,
    { hint: `roomhub join ${roomCode} --id ${id}` },
  );
}

/** Nothing is missing any more; of an agent that was on its way here, its tunnel is next. */
export function returnAfterJoin({ presence, isTunnelOnly }: Participant): Withheld | undefined {
  const { returning } = presence;
  return returning !== undefined && isTunnelOnly ? nothing : undefined;
}

/**
 * A heartbeat of a participant that needs no join: its agent is there, though its tunnel may not be. The first one may have
 * waited for this home since before the agent could dial it; by the second one it would have dialled.
 */
export function endReturn(context: OperationContext, participant: Participant): void {
  const { returning } = participant.presence;
  if (returning === undefined) return;
  participant.presence.returning =
    returning.isHeard === true ? undefined : { ...returning, isHeard: true };
  if (participant.presence.returning !== undefined) return;
  // One that was offline is announced with its sign of life.
  if (participant.presence.status === "online") announceUpdate(context, participant);
}

/**
 * A change says again what was lost, or clears it.
 *
 * @returns whether nothing is missing any more
 */
export function bringBack(
  participant: Participant,
  brought: Pick<Withheld, "authHeaders" | "instructions">,
): boolean {
  const { isTunnelOnly } = participant;
  const { returning } = participant.presence;
  if (returning === undefined) return false;
  const missing = {
    authHeaders: returning.authHeaders && !brought.authHeaders,
    instructions: returning.instructions && !brought.instructions,
    machineSecret: returning.machineSecret,
  };
  // An agent still has to dial.
  const hasReturned = isComplete(missing) && !isTunnelOnly;
  participant.presence.returning = hasReturned ? undefined : missing;
  return hasReturned;
}
