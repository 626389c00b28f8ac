import type { Participant } from "../domain/participant.ts";
import { HubError } from "../errors.ts";
import type { Scrubber } from "./inference-call.ts";

const maxHops = 4;

/**
 * @param hops - the hubs a request already passed
 * @throws HubError `routing_loop` for this hub's own id, or too many ids. Contract §3, "Loops"
 */
export function refuseLoops(hops: readonly string[], bootId: string): void {
  if (hops.length < maxHops && !hops.includes(bootId)) return;
  throw new HubError("routing_loop", "This request already passed this hub, or too many hubs.", {
    hint: "An endpoint of a participant points back at a hub; give it the model server's own address.",
  });
}

/** The client has to send the request again: the hub cannot send it to the next home of the room. */
export function movedAway(roomCode: string): HubError {
  return new HubError("peer_unavailable", `Another hub serves room ${roomCode} now.`, {
    retryAfterMs: 1_000,
  });
}

/** A participant was routable, and lost its path before the request was sent. */
export function pathIsLost({ id, roomCode }: Participant): HubError {
  return new HubError("participant_offline", `The path to ${id} was lost.`, {
    hint: `Try again, or list the participants: roomhub participants ${roomCode}`,
  });
}

/** The same error without secrets that the provider may have repeated. */
export function withoutSecrets(error: HubError, scrubber: Scrubber | undefined): HubError {
  const message = scrubber?.(error.message) ?? error.message;
  if (message === error.message) return error;
  const { hint, stage, status, param, participants, isFinal } = error;
  return new HubError(error.code, message, { hint, stage, status, param, participants, isFinal });
}
