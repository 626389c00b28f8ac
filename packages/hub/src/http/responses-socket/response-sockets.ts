import { forwardRequestHeaders, PRIORITY_HEADER, REQUIRE_HEADER } from "@roomhub/protocol";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import { HubError } from "../../errors.ts";
import { handshakeProblem } from "../../handshake-problem.ts";
import { requiresOf } from "../../inference/request/needs.ts";
import type { Access } from "../../operations/context.ts";
import { claimsOf, type Source } from "../../inference/sender/senders.ts";
import { hopsOf } from "../handlers/inference.ts";
import { ResponseSocket, type ResponseSocketDeps } from "./response-socket.ts";

const webSocketOptions = {
  noServer: true,
  clientTracking: false,
  // A client that does not read gets no pongs.
  autoPong: false,
  // A compressed message may be a bomb.
  perMessageDeflate: false,
  closeTimeout: 5_000,
};

/** All sockets on `/responses` of one hub. */
export class ResponseSockets {
  readonly #deps: ResponseSocketDeps;
  readonly #server: WebSocketServer;
  readonly #sockets = new Set<ResponseSocket>();

  constructor(deps: ResponseSocketDeps) {
    this.#deps = deps;
    this.#server = new WebSocketServer({
      ...webSocketOptions,
      maxPayload: deps.limits.inferenceBodyBytes,
    });
  }

  /**
   * Completes a handshake.
   *
   * @param input - the room's code as in the path, and where the client is
   * @throws HubError `room_not_found`, `bad_request` or `hub_overloaded`
   */
  open(
    input: { code: string; access: Access | undefined; source: Source },
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
  ): void {
    const { inference, limits } = this.#deps;
    inference.findRoom(input.code);
    const problem = handshakeProblem(request.method, request.headers);
    if (problem !== undefined) throw new HubError("bad_request", problem);
    if (this.#sockets.size >= limits.responseSockets) {
      throw new HubError(
        "hub_overloaded",
        `The hub already serves ${limits.responseSockets} sockets on /responses.`,
      );
    }
    const client = {
      ...input,
      claims: claimsOf(request.headers),
      requires: requiresOf(request.headers[REQUIRE_HEADER]),
      priority: request.headers[PRIORITY_HEADER],
      headers: headersOf(request),
      hops: hopsOf(request),
    };
    this.#server.handleUpgrade(request, socket, head, (ws) => {
      const opened = new ResponseSocket(ws, socket, client, this.#deps);
      this.#sockets.add(opened);
      ws.once("close", () => this.#sockets.delete(opened));
    });
  }

  /** Checks deadlines and sends pings. */
  tick(nowMs: number): void {
    for (const socket of this.#sockets) socket.tick(nowMs);
  }

  /**
   * The hub stops, or a room has another home: sockets take no new turns, and each closes after its running turn.
   *
   * @param roomCode - left out: of all rooms
   */
  drain(roomCode?: string): void {
    for (const socket of this.#sockets) {
      if (roomCode === undefined || socket.isIn(roomCode)) socket.drain();
    }
  }

  /** Cuts off the sockets that are still open. */
  terminate(): void {
    for (const socket of this.#sockets) socket.terminate();
  }
}

/** The headers for every turn, without the ids of single requests. */
function headersOf(request: IncomingMessage): Record<string, string> {
  const {
    "idempotency-key": _key,
    "x-client-request-id": _id,
    ...headers
  } = forwardRequestHeaders(request.headers);
  return { ...headers, accept: "text/event-stream", "content-type": "application/json" };
}
