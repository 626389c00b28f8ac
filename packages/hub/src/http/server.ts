import { createServer, type IncomingMessage, type Server } from "node:http";
import type { Socket } from "node:net";
import type { FrontDeps } from "./front-deps.ts";
import { Front } from "./front.ts";
import { ParseFailures } from "./parse-failures.ts";

/** What another hub says of a client, beside the client's own headers. */
const hopHeaderBytes = 4_096;

/**
 * The hub's HTTP/1.1 front. Listening and closing are the owner's; with `deps.piped` it does not listen, and gets the
 * connections of other hubs, which have no deadlines of their own.
 */
export function createHttpServer(deps: FrontDeps): Server {
  const parseFailures = new ParseFailures(deps.newRequestId);
  const front = new Front(deps, parseFailures);
  const { limits } = deps;
  const isForHops = deps.piped !== undefined;
  const server = createServer({
    // Node counts URL, names and values, and refuses what reaches its limit; ours is the most that is fine.
    maxHeaderSize: limits.headerBytes + 1 + (isForHops ? hopHeaderBytes : 0),
    headersTimeout: isForHops ? 0 : limits.headersReadMs,
    // The gate looks for it: Node would refuse with a response of its own.
    requireHostHeader: false,
    // Bodies have their own limits, since a long one is legal here.
    requestTimeout: 0,
    connectionsCheckingInterval: 1_000,
    keepAliveTimeout: isForHops ? 0 : limits.keepAliveMs,
    // Only a WebSocket where there is one is an upgrade; `Upgrade: h2c` and others get their ordinary response.
    shouldUpgradeCallback: (request: IncomingMessage) => front.takesUpgrade(request),
  });
  // No cap here: Node would drop the surplus in silence. The gate counts them and says so.
  server.maxHeadersCount = 0;
  server.on("request", (request, response) => front.serve(request, response));
  // The reader of the body sends `100 Continue`; a refusal goes out without it.
  server.on("checkContinue", (request, response) => front.serve(request, response));
  // An Expect other than 100-continue may be ignored (RFC 9110 §10.1.1); Node would refuse with a response of its own.
  server.on("checkExpectation", (request, response) => front.serve(request, response));
  server.on("upgrade", (request, socket, head) => front.upgrade(request, socket, head));
  // Of a server that speaks no TLS, the stream is the socket.
  server.on("clientError", (error, socket) => parseFailures.onFailure(error, socket as Socket));
  return server;
}
