import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type Transport, WS_LIMITS, wsTransport } from "@roomhub/tunnel";
import { WebSocketServer } from "ws";
import { HubError } from "../../errors.ts";
import { handshakeProblem } from "../../handshake-problem.ts";
import { LINK } from "./link-settings.ts";

/**
 * Completes the WebSocket handshake of a link. Whether the other end is a hub of the cluster is not known then.
 *
 * @throws HubError `origin_not_allowed`, `bad_request`, `hub_overloaded`
 */
export type AcceptLink = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

/**
 * @param unproven - links that have proven nothing yet
 * @param onTransport - a connection to be proven within 5 s
 */
export function createLinkAcceptor(
  unproven: { readonly size: number },
  onTransport: (transport: Transport) => void,
): AcceptLink {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    ...WS_LIMITS,
    handleProtocols: (protocols) => (protocols.has(LINK.subprotocol) ? LINK.subprotocol : false),
  });
  return (request, socket, head) => {
    const problem = handshakeProblem(request.method, request.headers);
    if (problem !== undefined) throw new HubError("bad_request", problem);
    if (request.headers.origin !== undefined) {
      throw new HubError("origin_not_allowed", "A web page cannot link to a hub.");
    }
    const offered = (request.headers["sec-websocket-protocol"] ?? "").split(",");
    if (!offered.some((name) => name.trim() === LINK.subprotocol)) {
      throw new HubError("bad_request", `A link requires the subprotocol ${LINK.subprotocol}.`);
    }
    if (unproven.size >= LINK.maxUnproven) {
      throw new HubError("hub_overloaded", `${LINK.maxUnproven} links are being proven already.`);
    }
    server.handleUpgrade(request, socket, head, (webSocket) => onTransport(wsTransport(webSocket)));
  };
}
