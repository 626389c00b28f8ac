import { CLOSE_CODES } from "../wire/close-code.ts";
import type { TunnelLink } from "../tunnel-link.ts";
import type { Hello } from "../wire/hello.ts";
import { asProtocolError } from "../wire/hello.ts";
import { readOffer } from "../wire/resume.ts";
import type { ResumeClaim, ResumeFields, ResumeOffer } from "../wire/resume.ts";

/** A session that may go on over the connection of another one. */
interface ClaimedSession {
  takeOver(link: TunnelLink, hello: Hello, claim: ResumeClaim | undefined): boolean;
  close(code: number, reason: string): void;
}

/** What a hub makes of an agent's offer to resume. */
export type ResumeDecision<Session extends ClaimedSession> =
  /** The tunnel begins a session, under this name. */
  | { kind: "new"; id: string; secret: string }
  /** Its claim is right: this session goes on. */
  | { kind: "resume"; session: Session }
  | { kind: "refuse"; code: number; reason: string }
  /** This hub does not resume. */
  | { kind: "none" };

interface Settings<Session extends ClaimedSession> {
  /** without `resume` */
  hello: Hello;
  resumeMs: number;
  decide: ((offer: ResumeOffer) => ResumeDecision<Session>) | undefined;
}

/**
 * Replies to an agent's HELLO, or gives its connection to the session that it claims.
 *
 * @returns that session; undefined when the connection begins one of its own, or is closed
 * @throws {ProtocolError} 4002 for an offer that is malformed or contradicts the session
 */
export function replyToHello<Session extends ClaimedSession>(
  link: TunnelLink,
  agent: Hello,
  { hello, resumeMs, decide }: Settings<Session>,
): Session | undefined {
  const mayResume = agent.resume !== undefined && resumeMs > 0 && !link.isGoingAway;
  const offer = mayResume ? offerOf(agent.resume) : undefined;
  for (;;) {
    const decision = (offer && decide?.(offer)) ?? { kind: "none" };
    switch (decision.kind) {
      case "refuse":
        link.close(decision.code, decision.reason);
        return undefined;
      case "resume": {
        const { session } = decision;
        if (session.takeOver(link, agent, offer?.claim)) return session;
        // What the agent lacks is gone: a tunnel like the first one.
        session.close(CLOSE_CODES.internal, "the session is too far behind");
        break;
      }
      case "new": {
        if (agent.resume?.only === true) return refuse(link);
        const { id, secret } = decision;
        const refusal = offer?.claim === undefined ? {} : { resumed: false };
        link.greet({ ...hello, resume: { id, secret, resumeMs, ...refusal } });
        link.agreeToResume(true);
        return undefined;
      }
      case "none":
        if (agent.resume?.only === true) return refuse(link);
        link.greet(hello);
        return undefined;
    }
  }
}

/** A tunnel that begins anew would take the place of the one that its agent has. */
function refuse(link: TunnelLink): undefined {
  link.close(CLOSE_CODES.resumeRefused, "the session is not here");
}

function offerOf(fields: ResumeFields | undefined): ResumeOffer | undefined {
  try {
    return fields && readOffer(fields);
  } catch (error) {
    throw asProtocolError("HELLO", error);
  }
}
