import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { asHubError, HubError } from "../errors.ts";
import { rawError } from "./error-response.ts";
import type { FrontDeps } from "./front-deps.ts";
import { checkRequest } from "./request-gate.ts";
import type { Router } from "./router.ts";
import { pathOf } from "./router.ts";

export const comeBack = "Try again in a moment; agents reconnect by themselves.";

/** A hub that is alone has no links, and does not say that others have. */
export function noCluster(): HubError {
  return new HubError("not_found", "There is nothing at this path.");
}

/** Handshakes of WebSockets: tunnels, links of other hubs, `/responses`. */
export class Handshakes {
  readonly #deps: FrontDeps;
  readonly #router: Router;

  constructor(deps: FrontDeps, router: Router) {
    this.#deps = deps;
    this.#router = router;
  }

  /** Whether a request is one. */
  takes(request: IncomingMessage): boolean {
    if (request.headers.upgrade?.toLowerCase() !== "websocket") return false;
    const path = request.url?.split("?", 1)[0] ?? "";
    const kind = this.#router.find(request.method ?? "GET", path)?.route.kind;
    return kind === "tunnel" || kind === "responses-socket" || kind === "link";
  }

  /** Never throws: what is refused gets a response, and the socket is closed. */
  serve(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on("error", () => socket.destroy());
    try {
      checkRequest(request, this.#deps.limits);
      if (this.#deps.isDraining() && !this.#deps.hasSession(namedSession(request)))
        throw new HubError("hub_draining", "The hub is stopping.", { hint: comeBack });
      this.#open(request, socket, head)?.catch((thrown: unknown) => this.#refuse(socket, thrown));
    } catch (thrown) {
      this.#refuse(socket, thrown);
    }
  }

  #refuse(socket: Duplex, thrown: unknown): void {
    if (!(thrown instanceof HubError)) this.#deps.log.bug("a handshake failed", thrown);
    // A client that requests a WebSocket keeps its side open, and nothing more comes on it.
    socket.once("finish", () => socket.destroy());
    socket.end(rawError(asHubError(thrown), this.#deps.newRequestId()));
  }

  /** @returns a promise where another hub must be heard first */
  #open(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> | undefined {
    const { peers, responseSockets, openTunnel, cluster } = this.#deps;
    const match = this.#router.find("GET", pathOf(request.url ?? "/"));
    const { code = "", id = "" } = match?.params ?? {};
    switch (match?.route.kind) {
      case "responses-socket":
        responseSockets.open({ code, source: peers.sourceOf(request) }, request, socket, head);
        return undefined;
      case "link":
        if (cluster === undefined) throw noCluster();
        cluster.acceptLink(request, socket, head);
        return undefined;
      default:
        return openTunnel(
          { code, id, session: namedSession(request), peer: peers.peerOf(request) },
          request,
          socket,
          head,
        );
    }
  }
}

/** Names the session that a tunnel goes on with; its HELLO proves it. */
function namedSession({ headers }: IncomingMessage): string | undefined {
  const name = headers["x-roomhub-session"];
  return typeof name === "string" ? name : undefined;
}
