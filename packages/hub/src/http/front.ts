import type { ErrorShape } from "@roomhub/protocol";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { asHubError, HubError } from "../errors.ts";
import { HOME_ELSEWHERE, PEER_HEADER } from "../hop/heads.ts";
import type { MoveRequest } from "../inference/inference-call.ts";
import type { Access } from "../operations/context.ts";
import { hasBody, managementBodyLimits, skipBody } from "./body.ts";
import { JsonCall } from "./handlers/json-call.ts";
import { answerPreflight, clientShape, setCommonHeaders } from "./response-head.ts";
import { sendError } from "./error-response.ts";
import type { FrontDeps } from "./front-deps.ts";
import type { Arrival, RoomPlaces } from "./hops/arrival.ts";
import { withRoom } from "./hops/with-room.ts";
import { serveHandout } from "./handed-out.ts";
import { serveEvents } from "./handlers/events.ts";
import { type RelayedRequest, serveInference } from "./handlers/inference.ts";
import { serveStoredResponse } from "./handlers/stored-response.ts";
import { comeBack, Handshakes, noCluster } from "./handshakes.ts";
import { notFound } from "./handlers/not-found.ts";
import { sendErrorPage, prefersHtml, servePage } from "./pages/serve-page.ts";
import { OpenApiDocument } from "./handlers/openapi.ts";
import type { ParseFailures } from "./parse-failures.ts";
import { admitTo, checkRequest } from "./request-gate.ts";
import type { Admitted, JsonRoute, RelayRoute, Route } from "./route.ts";
import { createRouter, pathOf, type RouteMatch } from "./router.ts";
import { ROUTES } from "./routes.ts";

/** One table for all fronts of a process: it never changes. */
const router = createRouter(ROUTES);

/** Routes every request and every handshake to its handler. */
export class Front {
  readonly #deps: FrontDeps;
  readonly #handshakes: Handshakes;
  readonly #openApi = new OpenApiDocument();
  readonly #parseFailures: ParseFailures;

  constructor(deps: FrontDeps, parseFailures: ParseFailures) {
    this.#deps = deps;
    this.#handshakes = new Handshakes(deps, router);
    this.#parseFailures = parseFailures;
  }

  /** Never throws: every failure is a response. */
  serve(request: IncomingMessage, response: ServerResponse): void {
    // The connection has ended and takes no response, so the request is ignored.
    if (!request.socket.writable) return;
    const { piped } = this.#deps;
    let requestId = "";
    // A client that resets its connection must not end the process; `close` follows.
    request.on("error", ignore);
    response.on("error", ignore);
    this.#parseFailures.note(request.socket, response);
    const refuse = (thrown: unknown) => this.#fail(request, response, requestId, thrown);
    try {
      if (piped?.takes(request, response) === true) return;
      requestId = piped?.factsOf(request).requestId ?? this.#deps.newRequestId();
      // The other hub has checked a piped request.
      if (piped === undefined) checkRequest(request, this.#deps);
      const match = this.#match(request, response);
      const serve = () => this.#serve({ request, response, requestId, refuse }, match);
      const code = match?.params["code"];
      if (code === undefined || this.#deps.cluster === undefined) return serve();
      // In a cluster, another hub may have just created the room, or be its home.
      const target = { ...arrivalOf(match?.route), code, requestId, serve, refuse };
      const { places } = this.#deps;
      withRoom(this.#deps, target, (found) => places?.request(found, request, response));
    } catch (thrown) {
      refuse(thrown);
    }
  }

  #serve(arrived: Omit<Admitted, "access">, match: RouteMatch | undefined): void {
    const { request, response, refuse } = arrived;
    try {
      const admitted = { ...arrived, access: this.#admit(request, match) };
      if (readsBody(match) || !hasBody(request)) return this.#route(admitted, match);
      const { world, limits } = this.#deps;
      skipBody(world, request, response, managementBodyLimits(limits), (error) => {
        if (error !== undefined) return refuse(error);
        try {
          this.#route(admitted, match);
        } catch (thrown) {
          refuse(thrown);
        }
      });
    } catch (thrown) {
      refuse(thrown);
    }
  }

  /** @returns undefined for OPTIONS, which every path accepts */
  #match(request: IncomingMessage, response: ServerResponse): RouteMatch | undefined {
    const method = request.method ?? "GET";
    if (method === "OPTIONS") return undefined;
    const path = pathOf(request.url ?? "/");
    const match = router.find(method, path);
    if (match === undefined || !this.#isServed(match.route, request)) {
      throw this.#noRoute(request, response, method, path);
    }
    return match;
  }

  /** Routes of the handout exist only where there is one, and pages only for people. */
  #isServed(route: Route, request: IncomingMessage): boolean {
    const { kind } = route;
    const isHandout = kind === "program" || kind === "sdk" || kind === "monitor";
    if (isHandout || (kind === "page" && route.page === "watch")) {
      if (this.#deps.handedOut === undefined) return false;
    }
    return kind !== "page" || prefersHtml(request.headers.accept);
  }

  /** Judges a request for a closed room by its head, before its body is read. A page for people shows nothing of one. */
  #admit(request: IncomingMessage, match: RouteMatch | undefined): Access | undefined {
    if (match === undefined) return undefined;
    const { route } = match;
    const isPage = route.kind === "json" && isPageWanted(route, request);
    return isPage ? undefined : admitTo(this.#deps, match, request);
  }

  #route(admitted: Admitted, match: RouteMatch | undefined): void {
    const { request, response, requestId } = admitted;
    if (match === undefined) {
      setCommonHeaders(response, requestId, "openai");
      answerPreflight(request, response);
      return;
    }
    const { route } = match;
    const { places } = this.#deps;
    const onMoved = places && moverOf(places, route, admitted);
    if (route.kind === "inference" || route.kind === "stored-response") {
      return this.#relay(admitted, { ...match, route }, onMoved);
    }
    if (route.kind === "json" && !isPageWanted(route, request)) {
      return new JsonCall({ ...admitted, match, route, onMoved }, this.#deps).begin();
    }
    setCommonHeaders(response, requestId, "openai");
    this.#serveHere(admitted, match);
  }

  /** Serves what a participant responds to. The head is written in one go, see {@link headPairs}. */
  #relay(
    admitted: Admitted,
    { route, params }: RouteMatch & { route: RelayRoute },
    onMoved: MoveRequest | undefined,
  ): void {
    const { request, response } = admitted;
    this.#refuseWhileDraining(response);
    const code = params["code"] ?? "";
    const { peers, piped, places } = this.#deps;
    const relayed: RelayedRequest = {
      ...admitted,
      ...{ code, source: peers.sourceOf(request), onMoved },
      delivery: piped?.deliveryOf(request),
      ageMs: piped?.factsOf(request).ageMs ?? 0,
    };
    if (route.kind === "inference") {
      places?.entered(code, request);
      serveInference({ ...relayed, surface: route.surface }, this.#deps);
    } else {
      serveStoredResponse(relayed, route, params["responseId"] ?? "", this.#deps);
    }
  }

  /** Serves what the hub responds to itself. */
  #serveHere({ request, response, access, refuse }: Admitted, match: RouteMatch): void {
    const { route, params } = match;
    switch (route.kind) {
      case "page":
      case "json":
        if (route.page === undefined) throw new Error(`${route.path} has no page`);
        servePage(request, response, route.page, match, this.#deps).catch(refuse);
        return;
      case "program":
      case "sdk":
      case "monitor":
        serveHandout(request, response, match, this.#deps.handedOut).catch(refuse);
        return;
      case "events": {
        const input = { code: params["code"], access, spelling: route.spelling };
        return serveEvents(request, response, input, this.#deps);
      }
      case "openapi":
        return this.#openApi.serve(request, response);
      case "responses-socket":
        throw upgradeRequired(response, "GET opens a WebSocket here; send requests with POST.");
      case "tunnel":
        throw upgradeRequired(response, "A tunnel is a WebSocket; see docs/reference/tunnel.md.");
      case "hop":
        if (this.#deps.cluster === undefined) throw noCluster();
        throw new HubError("upgrade_required", "Only hubs of this hub's cluster connect here.");
      case "inference":
      case "stored-response":
        throw new Error(`${route.kind} is relayed`);
    }
  }

  #noRoute(
    request: IncomingMessage,
    response: ServerResponse,
    method: string,
    path: string,
  ): HubError {
    const allowed = router.methodsOf(path);
    const readable = router.find("GET", path)?.route;
    const isHidden = readable !== undefined && !this.#isServed(readable, request);
    if (allowed.length === 0 || isHidden) {
      const { registry } = this.#deps.operations;
      const [room] = registry.roomCount === 1 ? registry.rooms() : [];
      const onlyRoom = room?.isClosed === true ? undefined : room;
      return notFound(method, path, {
        origin: this.#deps.peers.originOf(request),
        onlyRoom: onlyRoom?.code,
      });
    }
    response.setHeader("allow", allowed.join(", "));
    return new HubError(
      "method_not_allowed",
      `${method} is not allowed here. Use ${allowed.join(" or ")}.`,
    );
  }

  #refuseWhileDraining(response: ServerResponse): void {
    if (!this.#deps.isDraining()) return;
    response.setHeader("connection", "close");
    throw new HubError("hub_draining", "The hub is stopping and takes no new requests.", {
      hint: comeBack,
    });
  }

  #fail(
    request: IncomingMessage,
    response: ServerResponse,
    requestId: string,
    thrown: unknown,
  ): void {
    const { flushing, log } = this.#deps;
    if (!(thrown instanceof HubError)) log.bug("a request failed", thrown);
    if (response.headersSent || response.destroyed) {
      response.destroy();
      return;
    }
    const shape = this.#errorShapeOf(request);
    setCommonHeaders(response, requestId, shape);
    const error = asHubError(thrown);
    if (error.code === "home_elsewhere") response.setHeader(PEER_HEADER, HOME_ELSEWHERE);
    if (request.method === "GET" || request.method === "HEAD") {
      response.setHeader("vary", "Accept");
      if (prefersHtml(request.headers.accept)) {
        // Without an id, a piped request was not understood, and its origin is unknown.
        const origin = requestId === "" ? undefined : this.#deps.peers.originOf(request);
        sendErrorPage(response, error, origin, flushing);
        return;
      }
    }
    sendError(response, error, shape, flushing);
  }

  /** An SDK reads only errors in its own shape, even before its request is understood. */
  #errorShapeOf(request: IncomingMessage): ErrorShape {
    const route = router.find("POST", request.url?.split("?", 1)[0] ?? "")?.route;
    return route?.kind === "inference" ? route.surface.errorShape : clientShape(request);
  }

  takesUpgrade(request: IncomingMessage): boolean {
    return this.#handshakes.takes(request);
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#handshakes.serve(request, socket, head);
  }
}

function ignore(): void {}

function arrivalOf(route: Route | undefined): Pick<Arrival, "surface" | "isLasting"> {
  const surface = route?.kind === "inference" ? route.surface : undefined;
  return { surface, isLasting: route?.kind === "events" };
}

/** Sends a request on to the next home of its room. */
function moverOf(places: RoomPlaces, route: Route, admitted: Admitted): MoveRequest {
  const { request, response, requestId, refuse } = admitted;
  return (code, read) => {
    const serve = () => refuse(new Error("a request that was read is read again"));
    const target = { ...arrivalOf(route), requestId, refuse, code, serve };
    places.again(target, request, response, read);
  };
}

function upgradeRequired(response: ServerResponse, message: string): HubError {
  response.setHeader("upgrade", "websocket");
  return new HubError("upgrade_required", message);
}

function isPageWanted({ page }: JsonRoute, { headers }: IncomingMessage): boolean {
  return page !== undefined && prefersHtml(headers.accept);
}

function readsBody(match: RouteMatch | undefined): boolean {
  const { route } = match ?? {};
  return route?.kind === "inference" || (route?.kind === "json" && route.hasBody);
}
