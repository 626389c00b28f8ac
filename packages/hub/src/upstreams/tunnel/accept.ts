import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import {
  HubSession,
  LogBudget,
  TUNNEL_SUBPROTOCOL,
  type TunnelStatus,
  WS_LIMITS,
  wsTransport,
} from "@roomhub/tunnel";
import type { Limits } from "@roomhub/protocol";
import { type WebSocket, WebSocketServer } from "ws";
import type { Participant } from "../../domain/participant.ts";
import { HubError } from "../../errors.ts";
import { handshakeProblem } from "../../handshake-problem.ts";
import type { TunnelRegistry } from "./registry.ts";
import type { ResumableSessions } from "./resumable-sessions.ts";

/** The events of tunnels for the rest of the hub. */
interface TunnelEvents {
  /** A handshake without a fault is about to be completed. @throws HubError when it may not be */
  opening(participant: Participant): void;
  /** The same of one that presents a session. @throws HubError when it may not be completed */
  resuming(participant: Participant, session: HubSession): void;
  /** @param status - how it is from the first moment: nothing may reach a participant that is not ready */
  opened(
    participant: Participant,
    capabilities: Record<string, string>,
    status: TunnelStatus,
  ): void;
  /** Any message or pong: keep it cheap. */
  alive(participant: Participant): void;
  status(participant: Participant, status: TunnelStatus): void;
  /** The connection broke, and another one is waited for: `resumed` or `closed` follows. */
  suspended(participant: Participant, streams: number): void;
  /** Whether a hub that stops piped this connection here: its agent dials another one. */
  endsWithHub(connection: Duplex): boolean;
  /** Its agent reads too slowly for another request, or fast enough again. */
  congested(participant: Participant, isCongested: boolean): void;
  resumed(participant: Participant): void;
  closed(participant: Participant): void;
  /** In a cluster: which home of the room this hub is, for HELLO. */
  homeEpochOf(roomCode: string): number | undefined;
  bug(error: unknown): void;
}

/**
 * Completes a tunnel's WebSocket handshake. The token was checked before.
 *
 * @param session - the name of the one that it goes on with, as the handshake says
 * @throws HubError `bad_request` for another subprotocol, and for what is no handshake; what `opening` throws
 */
type AcceptTunnel = (
  participant: Participant,
  session: string | undefined,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
) => void;

export function createTunnelAcceptor(
  registry: TunnelRegistry,
  sessions: ResumableSessions,
  limits: Limits,
  events: TunnelEvents,
): AcceptTunnel {
  const logBudget = new LogBudget(limits.resumeLogBytes);
  /** the latest of each session */
  const connections = new WeakMap<HubSession, Duplex>();
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    ...WS_LIMITS,
    maxPayload: limits.tunnelMessageBytes,
    handleProtocols: (protocols) =>
      protocols.has(TUNNEL_SUBPROTOCOL) ? TUNNEL_SUBPROTOCOL : false,
  });

  function run(participant: Participant, webSocket: WebSocket, connection: Duplex): void {
    const transport = wsTransport(webSocket);
    const session: HubSession = new HubSession(transport, {
      responseWindowBytes: limits.tunnelResponseWindowBytes,
      maxStreams: limits.tunnelMaxStreams,
      pingIntervalMs: limits.tunnelPingMs,
      homeEpoch: () => events.homeEpochOf(participant.roomCode),
      resumeMs: limits.resumeMs,
      logBudget,
      handlers: {
        decideResume(offer) {
          const decision = sessions.decide(participant, session, offer);
          // The connection is the earlier session's from now on, and this one ends without a word.
          if (decision.kind === "resume") registry.remove(participant, session);
          connections.set(decision.kind === "resume" ? decision.session : session, connection);
          return decision;
        },
        onHello: (hello, status) => {
          registry.promote(participant, session);
          events.opened(participant, hello.capabilities, status);
        },
        onStatus: (status) => {
          if (registry.isCurrent(participant, session)) events.status(participant, status);
        },
        onLife: () => {
          if (registry.isCurrent(participant, session)) events.alive(participant);
        },
        onGoAway: (reason) => {
          if (registry.isCurrent(participant, session))
            events.status(participant, { ready: false, reason });
        },
        onInterrupted: (streams) => {
          if (registry.isCurrent(participant, session)) events.suspended(participant, streams);
        },
        waitsIdle: () => {
          const latest = connections.get(session);
          return latest !== undefined && events.endsWithHub(latest);
        },
        onCongestion: (isCongested) => {
          if (registry.isCurrent(participant, session)) events.congested(participant, isCongested);
        },
        onResume: () => {
          if (registry.isCurrent(participant, session)) events.resumed(participant);
        },
        onClose: () => {
          sessions.forget(session);
          if (registry.remove(participant, session)) events.closed(participant);
        },
        onError: (error) => events.bug(error),
      },
    });
    registry.addCandidate(participant, session);
  }

  return (participant, name, request, socket, head) => {
    const problem = handshakeProblem(request.method, request.headers);
    if (problem !== undefined) throw new HubError("bad_request", problem);
    // `ws` would open a tunnel for a client of another subprotocol.
    if (!offersOurProtocol(request)) {
      throw new HubError(
        "bad_request",
        `A tunnel requires the subprotocol ${TUNNEL_SUBPROTOCOL}.`,
        {
          hint: "Send it as Sec-WebSocket-Protocol, and check that no proxy drops it.",
        },
      );
    }
    const resumed = sessions.find(participant, name);
    if (resumed === undefined) events.opening(participant);
    else events.resuming(participant, resumed);
    server.handleUpgrade(request, socket, head, (webSocket) => run(participant, webSocket, socket));
  };
}

function offersOurProtocol(request: IncomingMessage): boolean {
  const offered = request.headers["sec-websocket-protocol"] ?? "";
  return offered.split(",").some((name) => name.trim() === TUNNEL_SUBPROTOCOL);
}
