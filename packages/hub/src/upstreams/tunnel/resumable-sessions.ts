import type { World } from "@roomhub/protocol";
import {
  CLOSE_CODES,
  type RequesterSession,
  type ResumeDecision,
  type ResumeOffer,
} from "@roomhub/tunnel";
import { digestOf, isSameDigest, matchesToken } from "../../credentials/tokens.ts";
import type { Participant } from "../../domain/participant.ts";

interface Ticket {
  readonly session: RequesterSession;
  readonly participant: Participant;
  /** of its token when the session began */
  readonly tokenDigest: Uint8Array;
  readonly secretDigest: Uint8Array;
  readonly bootId: string;
}

/**
 * The tunnel sessions that agents may resume, by name. A session is bound to its participant, the token, and the
 * agent's run. `docs/reference/tunnel.md`, "Resuming".
 */
export class ResumableSessions {
  readonly #tickets = new Map<string, Ticket>();
  readonly #idOf = new WeakMap<RequesterSession, string>();
  readonly #world: World;
  readonly #prefix: string;

  /** @param prefix - in a cluster: identifies the hub that has the session */
  constructor(world: World, prefix: string) {
    this.#world = world;
    this.#prefix = prefix;
  }

  /**
   * Decides about a tunnel whose agent offers to resume a session.
   *
   * @param session - the new session, which the tunnel begins unless it resumes another one
   */
  decide(participant: Participant, session: RequesterSession, offer: ResumeOffer): ResumeDecision {
    const { bootId, claim } = offer;
    const ticket = claim === undefined ? undefined : this.#tickets.get(claim.id);
    if (claim === undefined || ticket === undefined)
      return this.#begin(participant, session, bootId);
    if (!isHolder(ticket, participant, offer)) {
      return {
        kind: "refuse",
        code: CLOSE_CODES.resumeRefused,
        reason: "the session is another agent's",
      };
    }
    return { kind: "resume", session: ticket.session };
  }

  /** The participant whose session a handshake names; undefined when this hub does not have it. */
  holderOf(id: string | undefined): Participant | undefined {
    return id === undefined ? undefined : this.#tickets.get(id)?.participant;
  }

  /** The session that a handshake names, if it is this participant's. HELLO has to prove the rest. */
  find(participant: Participant, id: string | undefined): RequesterSession | undefined {
    const ticket = id === undefined ? undefined : this.#tickets.get(id);
    return ticket?.participant === participant ? ticket.session : undefined;
  }

  /** The session has ended. */
  forget(session: RequesterSession): void {
    const id = this.#idOf.get(session);
    if (id !== undefined) this.#tickets.delete(id);
  }

  #begin(participant: Participant, session: RequesterSession, bootId: string): ResumeDecision {
    const random = (count: number) => Buffer.from(this.#world.randomBytes(count));
    const id = this.#prefix + random(16).toString("hex");
    const secret = random(32).toString("base64url");
    const { tokenDigest } = participant;
    const secretDigest = digestOf(secret);
    this.#tickets.set(id, {
      session,
      participant,
      tokenDigest,
      secretDigest,
      bootId,
    });
    this.#idOf.set(session, id);
    return { kind: "new", id, secret };
  }
}

function isHolder(
  ticket: Ticket,
  participant: Participant,
  { bootId, claim }: ResumeOffer,
): boolean {
  return (
    matchesToken(claim?.secret, ticket.secretDigest) &&
    ticket.bootId === bootId &&
    ticket.participant === participant &&
    isSameDigest(participant.tokenDigest, ticket.tokenDigest)
  );
}
