import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { asHubError, HubError } from "../errors.ts";
import { HOP_PROTOCOL } from "../hop/accept.ts";
import { rawError } from "./error-response.ts";
import { authorizeTunnel } from "../operations/participants.ts";
import type { FrontDeps } from "./front-deps.ts";
import { withRoom } from "./hops/with-room.ts";
import { checkRequest } from "./request-gate.ts";
import type { RouteMatch, Router } from "./router.ts";
import { pathOf } from "./router.ts";

export const comeBack = "Try again in a moment; agents reconnect by themselves.";

/** A hub that is alone has no hops, and does not say that others have. */
export function noCluster(): HubError {
  return new HubError("not_found", "There is nothing at this path.");
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
    const { piped, limits, cluster, places } = this.#deps;
    let requestId = "";
    const refuse = (thrown: unknown) => this.#refuse(socket, requestId, thrown);
    try {
      requestId = piped?.requestIdOf(request) ?? this.#deps.newRequestId();
      if (piped === undefined) checkRequest(request, limits);
      const match = this.#router.find("GET", pathOf(request.url ?? "/"));
      const serve = () => this.#serve(match, request, socket, head, refuse);
      const code = match?.params["code"];
      const session = namedSession(request);
      const isOwn = this.#deps.hasSession(session);
      if (code === undefined || cluster === undefined || isOwn) return serve();
      const target = { code, requestId, surface: undefined, isLasting: true, serve, refuse };
      withRoom(this.#deps, target, (found) =>
        places?.upgrade(found, session, request, socket, head),
      );
    } catch (thrown) {
      refuse(thrown);
    }
  }

  #serve(
    match: RouteMatch | undefined,
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    refuse: (error: unknown) => void,
  ): void {
    try {
      if (this.#deps.isDraining() && !this.#deps.hasSession(namedSession(request)))
        throw new HubError("hub_draining", "The hub is stopping.", { hint: comeBack });
      this.#open(match, request, socket, head);
    } catch (thrown) {
      refuse(thrown);
    }
  }

  #refuse(socket: Duplex, requestId: string, thrown: unknown): void {
    if (!(thrown instanceof HubError)) this.#deps.log.bug("a handshake failed", thrown);
    // A client that requests a WebSocket keeps its side open, and nothing more comes on it.
    socket.once("finish", () => socket.destroy());
    socket.end(rawError(asHubError(thrown), requestId));
  }

  #open(
    match: RouteMatch | undefined,
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
  ): void {
    const { peers, responseSockets, cluster } = this.#deps;
    const { code = "", id = "" } = match?.params ?? {};
    switch (match?.route.kind) {
      case "responses-socket":
        responseSockets.open({ code, source: peers.sourceOf(request) }, request, socket, head);
        return;
      case "hop":
        if (cluster === undefined) throw noCluster();
        cluster.accept(request, socket, head);
        return;
      default: {
        const session = namedSession(request);
        const resumes = this.#deps.hasSession(session);
        const { operations } = this.#deps;
        const tunnel = authorizeTunnel(operations, code, id, peers.peerOf(request), resumes);
        this.#deps.acceptTunnel(tunnel, session, request, socket, head);
      }
    }
  }
}

/** Names the session that a tunnel goes on with; its HELLO proves it. */
function namedSession({ headers }: IncomingMessage): string | undefined {
  const name = headers["x-roomhub-session"];
  return typeof name === "string" ? name : undefined;
}
