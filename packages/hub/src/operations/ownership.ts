import type { Participant, Registrant } from "../domain/participant.ts";
import { matchesToken } from "../credentials/tokens.ts";
import { HubError } from "../errors.ts";
import type { OwnershipMode, Peer } from "./context.ts";

/** What shows that a peer may act for a participant. `open` mode asks for nothing. */
export type Proof = "token" | "address" | "open" | undefined;

/**
 * Contract §3. A wrong token is refused even from the right address.
 *
 * @throws HubError `participant_token_invalid`
 */
export function proofOf(mode: OwnershipMode, participant: Participant, peer: Peer): Proof {
  if (peer.token !== undefined) {
    if (matchesToken(peer.token, participant.tokenDigest)) return "token";
    if (mode !== "open") {
      throw new HubError(
        "participant_token_invalid",
        `The participant token sent does not belong to ${participant.id} as it is registered now.`,
        {
          hint: "Join again without it, from the participant's own machine or once it is offline.",
        },
      );
    }
  }
  if (mode === "open") return "open";
  const { address, hasOrigin } = participant.registrant;
  // A page opened in a browser has that machine's address, and no right to what others there registered.
  if (peer.hasOrigin && !hasOrigin) return undefined;
  return mode === "compat" && address !== undefined && address === peer.address
    ? "address"
    : undefined;
}

/** Whoever registers a participant decides by it what the hub may dial. Contract §3. */
export function registrantOf({ address, hasOrigin, throttleKey }: Peer): Registrant {
  return { address, hasOrigin, throttleKey };
}

/** @throws HubError `participant_token_required` or `participant_token_invalid` */
export function requireProof(mode: OwnershipMode, participant: Participant, peer: Peer): Proof {
  const proof = proofOf(mode, participant, peer);
  if (proof !== undefined) return proof;
  throw new HubError(
    "participant_token_required",
    `Only the owner may change ${participant.id}: send the participantToken from its join in x-participant-token.`,
    {
      hint: `It was in the response to that join. With it: roomhub leave ${participant.roomCode} ${participant.id} --token-env VARIABLE`,
    },
  );
}

/**
 * Contract §3: such an id may not be taken without proof. An endpoint that answered once is no sign of life: nobody asks
 * it again while its participant is silent.
 */
export function isLive(participant: Participant): boolean {
  return participant.status === "online" || participant.tunnel.kind === "open";
}
