import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import {
  CLOSE_CODES,
  LogBudget,
  RequesterSession,
  type ResumeDecision,
  TUNNEL_SUBPROTOCOL,
  WS_LIMITS,
  wsTransport,
} from "@roomhub/tunnel";
import type { Limits, World } from "@roomhub/protocol";
import { type WebSocket, WebSocketServer } from "ws";
import type { Participant } from "../../domain/participant.ts";
import type { TunnelReport } from "../../domain/path-reports.ts";
import { HubError } from "../../errors.ts";
import { type AcceptTunnel, handshakeProblem } from "../../handshake-problem.ts";
import type { TunnelRegistry } from "./registry.ts";
import type { ResumableSessions } from "./resumable-sessions.ts";

/** What tunnels need of the rest of the hub. */
interface TunnelEvents {
  /** A valid handshake is about to be completed. @throws HubError when it may not be */
  opening(participant: Participant): void;
  /** The same for a handshake that presents a session. @throws HubError when it may not be completed */
  resuming(participant: Participant, session: RequesterSession): void;
  /** Called for every message and pong: it must be cheap. */
  reported(participant: Participant, report: TunnelReport): void;
  /** Whether the participant is in a room of this hub. */
  isPresent(participant: Participant): boolean;
  /** Whether a hub that stops piped this connection here: its agent dials another one. */
  endsWithHub(connection: Duplex): boolean;
  /** In a cluster: the epoch of the room's home, for HELLO. */
  homeEpochOf(roomCode: string): number | undefined;
  bug(error: unknown): void;
}

const alive: TunnelReport = { kind: "alive" };
const elsewhere: ResumeDecision = {
  ...{ kind: "refuse", code: CLOSE_CODES.goingAway, reason: "the room has another home" },
};

/** What the tunnels of a hub have in common. */
interface TunnelParts {
  world: World;
  registry: TunnelRegistry;
  sessions: ResumableSessions;
  limits: Limits;
}

/** @returns throws HubError `bad_request` for another subprotocol, and for what is no handshake; what `opening` throws */
export function createTunnelAcceptor(parts: TunnelParts, events: TunnelEvents): AcceptTunnel {
  const { registry, sessions, limits } = parts;
  const shared: Shared = {
    ...parts,
    events,
    logBudget: new LogBudget(limits.resumeLogBytes),
    connections: new WeakMap(),
  };
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    ...WS_LIMITS,
    maxPayload: limits.tunnelMessageBytes,
    handleProtocols: (protocols) =>
      protocols.has(TUNNEL_SUBPROTOCOL) ? TUNNEL_SUBPROTOCOL : false,
  });
  return (participant, name, request, socket, head) => {
    checkHandshake(request);
    const resumed = sessions.find(participant, name);
    if (resumed === undefined) events.opening(participant);
    else events.resuming(participant, resumed);
    server.handleUpgrade(request, socket, head, (webSocket) => {
      registry.addCandidate(participant, begin(shared, participant, webSocket, socket));
    });
  };
}

/** @throws HubError `bad_request` */
function checkHandshake(request: IncomingMessage): void {
  const problem = handshakeProblem(request.method, request.headers);
  if (problem !== undefined) throw new HubError("bad_request", problem);
  // `ws` would accept a client of another subprotocol.
  if (offersOurProtocol(request)) return;
  const message = `A tunnel requires the subprotocol ${TUNNEL_SUBPROTOCOL}.`;
  const hint = "Send it as Sec-WebSocket-Protocol, and check that no proxy drops it.";
  throw new HubError("bad_request", message, { hint });
}

interface Shared extends TunnelParts {
  events: TunnelEvents;
  logBudget: LogBudget;
  /** the latest connection of each session */
  connections: WeakMap<RequesterSession, Duplex>;
}

/** Begins the session of a new connection, which HELLO may turn into the continuation of another one. */
function begin(
  { world, registry, sessions, limits, events, logBudget, connections }: Shared,
  participant: Participant,
  webSocket: WebSocket,
  connection: Duplex,
): RequesterSession {
  const report = (of: TunnelReport) => {
    if (registry.isCurrent(participant, session)) events.reported(participant, of);
  };
  const transport = wsTransport(webSocket, connection, {
    end: "hub",
    maxBytes: limits.tunnelMessageBytes,
  });
  const session: RequesterSession = new RequesterSession(transport, {
    responseWindowBytes: limits.tunnelResponseWindowBytes,
    maxStreams: limits.tunnelMaxStreams,
    pingIntervalMs: limits.tunnelPingMs,
    epoch: () => events.homeEpochOf(participant.roomCode),
    resumeMs: limits.resumeMs,
    ...{ world, logBudget },
    handlers: {
      decideResume(offer) {
        const decision = sessions.decide(participant, session, offer);
        // The handshake named a session that has ended since, and the room has another home.
        if (decision.kind === "new" && !events.isPresent(participant)) return elsewhere;
        connections.set(decision.kind === "resume" ? decision.session : session, connection);
        return decision;
      },
      onGivenOver: () => void registry.remove(participant, session),
      onHello: ({ capabilities }, status) => {
        registry.promote(participant, session);
        report({ kind: "opened", status: { ...status, capabilities } });
      },
      onStatus: (status) => report({ kind: "status", status }),
      onLife: () => report(alive),
      onGoAway: (reason) => report({ kind: "status", status: { ready: false, reason } }),
      onInterrupted: (streams) => report({ kind: "interrupted", streams }),
      waitsIdle: () => {
        // Requests wait for it, or run there since an earlier home of the room sent them.
        if (participant.load.queued > 0 || participant.load.active > 0) return true;
        const latest = connections.get(session);
        return latest !== undefined && events.endsWithHub(latest);
      },
      onCongestion: (isCongested) => report({ kind: "congested", isCongested }),
      onResume: () => report({ kind: "resumed" }),
      onClose: () => {
        sessions.forget(session);
        if (registry.remove(participant, session)) events.reported(participant, { kind: "closed" });
      },
      onError: (error) => events.bug(error),
    },
  });
  return session;
}

function offersOurProtocol(request: IncomingMessage): boolean {
  const offered = request.headers["sec-websocket-protocol"] ?? "";
  return offered.split(",").some((name) => name.trim() === TUNNEL_SUBPROTOCOL);
}
