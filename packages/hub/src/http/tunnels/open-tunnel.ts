import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { HubError } from "../../errors.ts";
import type { ClusterMembership, OperationContext, Peer } from "../../operations/context.ts";
import { authorizeMovingTunnel, authorizeTunnel } from "../../operations/participants.ts";
import { passOn } from "./pass-on.ts";
import { tunnelUrl } from "./tunnel-url.ts";

type Participant = ReturnType<typeof authorizeTunnel>;

/** Another hub that has a session: a worker on this machine, by its own port, or one that agents dial. */
type SessionPlace = { kind: "sibling"; port: number } | { kind: "elsewhere"; advertiseUrl: string };

export interface TunnelOpenerDeps {
  operations: OperationContext;
  /** undefined for a hub that is alone */
  cluster: ClusterMembership | undefined;
  /** Which other hub has the session with this name. */
  placeOf: (session: string | undefined) => SessionPlace | undefined;
  /** This hub has it. */
  hasSession: (session: string | undefined) => boolean;
  /** Completes the handshake. */
  accept: (
    participant: Participant,
    session: string | undefined,
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
  ) => void;
}

/** A handshake of a tunnel: completed here, or sent to the hub that has the session which it names. */
export type OpenTunnel = (
  target: { code: string; id: string; session: string | undefined; peer: Peer },
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
) => Promise<void> | undefined;

/** @returns the function; it throws, or rejects with, HubError when the tunnel may not open */
export function createTunnelOpener(deps: TunnelOpenerDeps): OpenTunnel {
  const { operations, cluster, accept } = deps;
  return ({ code, id, session, peer }, request, socket, head) => {
    const resumes = deps.hasSession(session);
    if (cluster === undefined) {
      accept(authorizeTunnel(operations, code, id, peer, resumes), session, request, socket, head);
      return undefined;
    }
    const place = deps.placeOf(session);
    if (place !== undefined && operations.registry.findRoom(code)?.participants.has(id) === true) {
      // Before anything is passed on: a stranger gets no further than this.
      const participant = authorizeTunnel(operations, code, id, peer, true);
      if (place.kind === "sibling") return passOn(request, socket, head, place.port);
      throw elsewhere(participant, place.advertiseUrl);
    }
    return authorizeMovingTunnel(operations, cluster, code, id, peer, resumes).then((participant) =>
      accept(participant, session, request, socket, head),
    );
  };
}

function elsewhere({ roomCode, id }: Participant, advertiseUrl: string): HubError {
  return new HubError("session_elsewhere", `Another hub has the tunnel session of ${id}.`, {
    hint: "Dial the URL in tunnel.url, or dial here again without x-roomhub-session to begin a new session.",
    tunnelUrl: tunnelUrl(advertiseUrl, roomCode, id),
  });
}
