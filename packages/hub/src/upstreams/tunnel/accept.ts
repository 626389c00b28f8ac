import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import {
  HubSession,
  TUNNEL_SUBPROTOCOL,
  type TunnelStatus,
  WS_LIMITS,
  wsTransport,
} from "@roomhub/tunnel";
import { WebSocketServer } from "ws";
import type { Participant } from "../../domain/participant.ts";
import { HubError } from "../../errors.ts";
import { handshakeProblem } from "../../handshake-problem.ts";
import type { TunnelRegistry } from "./registry.ts";

export interface TunnelOptions {
  responseWindowBytes: number;
  maxStreams: number;
  maxMessageBytes: number;
  pingIntervalMs: number;
}

/** The events of tunnels for the rest of the hub. */
export interface TunnelEvents {
  /** A handshake without a fault is about to be completed. @throws HubError when it may not be */
  opening(participant: Participant): void;
  /** @param status - how it is from the first moment: nothing may reach a participant that is not ready */
  opened(
    participant: Participant,
    capabilities: Record<string, string>,
    status: TunnelStatus,
  ): void;
  /** Any message or pong: keep it cheap. */
  alive(participant: Participant): void;
  status(participant: Participant, status: TunnelStatus): void;
  closed(participant: Participant): void;
  bug(error: unknown): void;
}

/**
 * Completes a tunnel's WebSocket handshake. The token was checked before.
 *
 * @throws HubError `bad_request` for another subprotocol, and for what is no handshake; what `opening` throws
 */
export type AcceptTunnel = (
  participant: Participant,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
) => void;

export function createTunnelAcceptor(
  registry: TunnelRegistry,
  options: TunnelOptions,
  events: TunnelEvents,
): AcceptTunnel {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    ...WS_LIMITS,
    maxPayload: options.maxMessageBytes,
    handleProtocols: (protocols) =>
      protocols.has(TUNNEL_SUBPROTOCOL) ? TUNNEL_SUBPROTOCOL : false,
  });

  function run(participant: Participant, transport: ReturnType<typeof wsTransport>): void {
    const session: HubSession = new HubSession(transport, {
      responseWindowBytes: options.responseWindowBytes,
      maxStreams: options.maxStreams,
      maxResponseHeadBytes: undefined,
      pingIntervalMs: options.pingIntervalMs,
      handlers: {
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
        onClose: () => {
          if (registry.remove(participant, session)) events.closed(participant);
        },
        onError: (error) => events.bug(error),
      },
    });
    registry.addCandidate(participant, session);
  }

  return (participant, request, socket, head) => {
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
    events.opening(participant);
    server.handleUpgrade(request, socket, head, (webSocket) =>
      run(participant, wsTransport(webSocket)),
    );
  };
}

function offersOurProtocol(request: IncomingMessage): boolean {
  const offered = request.headers["sec-websocket-protocol"] ?? "";
  return offered.split(",").some((name) => name.trim() === TUNNEL_SUBPROTOCOL);
}
