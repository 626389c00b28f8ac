import { nothingReported, updateLimit } from "../../domain/concurrency.ts";
import type { HubIdentity, Participant } from "../../domain/participant.ts";
import { renewCredentials } from "../../domain/readiness.ts";
import { assignMachine, leaveMachine } from "../machine-key.ts";
import { HubError } from "../../errors.ts";
import { underWay } from "./moves.ts";
import type { OperationContext, Peer } from "../context.ts";
import { proofOf } from "../ownership.ts";
import { showUpdate } from "../presence.ts";

/**
 * The hub that must serve a request about a participant; undefined when this one may. Who proves its join by the token is
 * served anywhere: the participant moves. Contract §8.
 *
 * @throws HubError `participant_token_invalid`
 */
export function servedBy(
  { ownership }: OperationContext,
  participant: Participant,
  peer: Peer,
  isJoin: boolean,
): HubIdentity | undefined {
  const owner = participant.remote?.owner;
  if (owner === undefined || !isJoin) return owner;
  const proof = proofOf(ownership, participant, peer);
  return proof === "token" || proof === undefined ? undefined : owner;
}

/**
 * A hub that is dead took with it what only it knew of its participants.
 *
 * @throws HubError `participant_not_found` for one that no hub owns
 */
export function requireOwned(participant: Participant): void {
  if (participant.remote === undefined) return;
  throw new HubError(
    "participant_not_found",
    `The hub that ${participant.id} had joined has stopped, so ${participant.id} must join again.`,
    { hint: `roomhub join ${participant.roomCode} --id ${participant.id}` },
  );
}

/** Another hub owns it now: its tunnel here is closed, and what only its owner may know is dropped. Contract §8. */
export function disownParticipant(context: OperationContext, participant: Participant): void {
  context.liveness.forget(participant);
  leaveMachine(context, participant);
  participant.reported = nothingReported;
  context.moves.end(participant);
  context.paths.closeTunnel(participant, "moved");
  context.vault.drop(participant.key);
}

/** What only the hub that owns a participant knows of it. */
interface Secrets {
  instructions: string | undefined;
  authHeaders: Record<string, string>;
}

/**
 * For the hub that takes a participant over.
 *
 * @param question - names it: `roomCode`, `id`, `key`
 * @returns undefined for one that is not this hub's
 */
export function secretsFor(
  { registry, vault }: OperationContext,
  question: unknown,
): Secrets | undefined {
  const { roomCode, id, key } = (question ?? {}) as Record<string, unknown>;
  const participant = registry.findRoom(String(roomCode))?.participants.get(String(id));
  if (participant === undefined || participant.key !== key) return undefined;
  if (participant.remote !== undefined) return undefined;
  const { instructions } = participant.config;
  const authHeaders = vault.headersFor(participant.key, participant.endpointOrigin);
  return { instructions, authHeaders: { ...authHeaders } };
}

/** Another hub's participant is this hub's own now, with no path yet. Contract §8. */
export function adoptParticipant(
  context: OperationContext,
  participant: Participant,
  secrets: Secrets | undefined,
): void {
  const { instructions: _hidden, ...config } = participant.config;
  participant.config =
    secrets?.instructions === undefined
      ? config
      : { ...config, instructions: secrets.instructions };
  context.vault.put(participant.key, participant.endpointOrigin, secrets?.authHeaders ?? {});
  // Its tunnel follows its join.
  participant.tunnel = participant.isTunnelOnly ? underWay(context.nowMs()) : { kind: "closed" };
  if (participant.isTunnelOnly) context.moves.expect(participant, context.nowMs());
  participant.direct = context.paths.directPathOf(participant);
  renewCredentials(participant, context.nowMs());
  assignMachine(context, participant);
  updateLimit(participant, context.limits);
  participant.lastSeenMs = context.nowMs();
  participant.lastUsedMs = context.nowMs();
  if (participant.status === "online") context.liveness.watch(participant);
  if (participant.liveness === "probe") context.paths.watch(participant);
}

/** Of a participant whose hub is dead, by the hub that wrote down what became of it. */
export function announceOrphan(
  context: OperationContext,
  participant: Participant,
  what: "updated" | "offline" | "expired",
): void {
  const { roomCode, id: participantId, nickname } = participant;
  switch (what) {
    case "updated":
      showUpdate(context, participant);
      break;
    case "offline":
      context.emit.participantOffline(roomCode, { participantId, nickname });
      break;
    case "expired":
      context.emit.participantLeft(roomCode, { participantId, nickname, reason: "expired" });
      break;
  }
  context.routingChanged(roomCode);
}
