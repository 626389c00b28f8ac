import { HOME_EPOCH_HEADER, normaliseRoomCode } from "@roomhub/protocol";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { asHubError, HubError } from "../errors.ts";
import { HOP_PROTOCOL } from "../hop/accept.ts";
import type { OpenUpgrade } from "../hop/hops.ts";
import { rawError } from "./error-response.ts";
import { authorizeTunnel } from "../operations/participants.ts";
import type { FrontDeps } from "./front-deps.ts";
import type { Arrival } from "./hops/arrival.ts";
import { withRoom } from "./hops/with-room.ts";
import type { Access } from "../operations/context.ts";
import { admitTo, checkRequest } from "./request-gate.ts";
import type { RouteMatch, Router } from "./router.ts";
import { pathOf } from "./router.ts";

export const comeBack = "Try again in a moment; agents reconnect by themselves.";

/** A hub that is alone has no hops, and does not reveal that other hubs have. */
export function noCluster(): HubError {
  return new HubError("not_found", "There is nothing at this path.");
}

interface Handshake extends OpenUpgrade {
  match: RouteMatch | undefined;
  requestId: string;
  refuse: (error: unknown) => void;
}

/** Handshakes of WebSockets: tunnels, hops of other hubs, `/responses`. */
export class Handshakes {
  readonly #deps: FrontDeps;
  readonly #router: Router;

  constructor(deps: FrontDeps, router: Router) {
    this.#deps = deps;
    this.#router = router;
  }

  /** Whether a request is one. */
  takes(request: IncomingMessage): boolean {
    const protocol = request.headers.upgrade?.toLowerCase();
    const path = request.url?.split("?", 1)[0] ?? "";
    const kind = this.#router.find(request.method ?? "GET", path)?.route.kind;
    if (kind === "hop") return protocol === HOP_PROTOCOL;
    if (protocol !== "websocket") return false;
    return kind === "tunnel" || kind === "responses-socket";
  }

  /** Never throws: what is refused gets a response, and the socket is closed. */
  serve(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on("error", () => socket.destroy());
    const { piped } = this.#deps;
    let requestId = "";
    const refuse = (thrown: unknown) => this.#refuse(socket, requestId, thrown);
    try {
      requestId = piped?.factsOf(request).requestId ?? this.#deps.newRequestId();
      if (piped === undefined) checkRequest(request, this.#deps);
      const match = this.#router.find("GET", pathOf(request.url ?? "/"));
      this.#place({ match, request, socket, head, requestId, refuse });
    } catch (thrown) {
      refuse(thrown);
    }
  }

  #place(handshake: Handshake): void {
    const { match, request, socket, head, requestId, refuse } = handshake;
    const { cluster, places } = this.#deps;
    const { code, id } = match?.params ?? {};
    const session = namedSession(request);
    const serve = () => this.#serve(handshake, undefined);
    const isResumable = this.#deps.holderOf(session) !== undefined;
    if (code === undefined || cluster === undefined || isResumable) return serve();
    const isTunnel = match?.route.kind === "tunnel" && id !== undefined;
    const tunnel = isTunnel ? { participantId: id, session } : undefined;
    const send = (target: Arrival) => places?.upgrade(target, tunnel, request, socket, head);
    // When this hub stops, the home of the room closes sockets on `/responses`.
    const target = { code, requestId, surface: undefined, isLasting: isTunnel, refuse };
    const lookAgain = (found: string) => send({ ...target, code: found, serve });
    withRoom(this.#deps, { ...target, serve: () => this.#serve(handshake, lookAgain) }, send);
  }

  /** @param lookAgain - looks for the home of this room again: it may be another hub by now */
  #serve(handshake: Handshake, lookAgain: ((roomCode: string) => void) | undefined): void {
    try {
      const { match, request } = handshake;
      const resumed = this.#deps.holderOf(namedSession(request));
      // A session proves its own participant's token where it is: the room may have its participants elsewhere.
      const isResumed = resumed !== undefined && isTunnelOf(resumed, match);
      const access =
        match === undefined || isResumed ? undefined : admitTo(this.#deps, match, request);
      // Other hubs still need what runs here.
      const mayFinish = match?.route.kind === "hop" || resumed;
      if (this.#deps.isDraining() && !mayFinish)
        throw new HubError("hub_draining", "The hub is stopping.", { hint: comeBack });
      this.#open(handshake, access, lookAgain);
    } catch (thrown) {
      handshake.refuse(thrown);
    }
  }

  #refuse(socket: Duplex, requestId: string, thrown: unknown): void {
    if (!(thrown instanceof HubError)) this.#deps.log.bug("a handshake failed", thrown);
    // A client that requests a WebSocket keeps its side open without sending more.
    socket.once("finish", () => socket.destroy());
    socket.end(rawError(asHubError(thrown), requestId));
  }

  #open(
    { match, request, socket, head }: Handshake,
    access: Access | undefined,
    lookAgain: ((roomCode: string) => void) | undefined,
  ): void {
    const { peers, responseSockets, cluster } = this.#deps;
    const { code = "", id = "" } = match?.params ?? {};
    switch (match?.route.kind) {
      case "responses-socket":
        responseSockets.open(
          { code, access, source: peers.sourceOf(request) },
          request,
          socket,
          head,
        );
        return;
      case "hop":
        if (cluster === undefined) throw noCluster();
        cluster.hops.accept(request, socket, head);
        return;
      default: {
        const session = namedSession(request);
        const holder = this.#deps.holderOf(session);
        const { operations } = this.#deps;
        const tunnel = authorizeTunnel(operations, code, id, peers.peerOf(request), holder);
        // Only after the token is checked: any client could claim that there is another home.
        const isBehind = () =>
          cluster?.homes.sawEpoch(tunnel.roomCode, seenEpoch(request)) === true;
        if (lookAgain !== undefined && holder === undefined && isBehind())
          return lookAgain(tunnel.roomCode);
        this.#deps.acceptTunnel(tunnel, session, request, socket, head);
      }
    }
  }
}

function isTunnelOf(
  { id, roomCode }: NonNullable<ReturnType<FrontDeps["holderOf"]>>,
  match: RouteMatch | undefined,
): boolean {
  if (match?.route.kind !== "tunnel") return false;
  return match.params["id"] === id && normaliseRoomCode(match.params["code"] ?? "") === roomCode;
}

/** The epoch of the room's home that the agent has seen; 0 when it names none. */
function seenEpoch({ headers }: IncomingMessage): number {
  return Number(headers[HOME_EPOCH_HEADER] ?? 0);
}

/** The session that a tunnel names to resume; its HELLO has to prove it. */
function namedSession({ headers }: IncomingMessage): string | undefined {
  const name = headers["x-roomhub-session"];
  return typeof name === "string" ? name : undefined;
}
