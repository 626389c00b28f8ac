import { HubError } from "../../errors.ts";
import type { MoveRequest } from "../../inference/inference-call.ts";
import { type BodySink, hasBody, jsonIn, managementBodyLimits, readBody } from "../body.ts";
import type { FrontDeps } from "../front-deps.ts";
import { clientShape, headPairs } from "../response-head.ts";
import type { Admitted, JsonRoute, RouteRequest, RouteResponse } from "../route.ts";
import { queryOf, type RouteMatch } from "../router.ts";

const jsonHeaders = {
  "content-type": "application/json",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
} as const;

interface JsonArrival extends Admitted {
  match: RouteMatch;
  route: JsonRoute;
  onMoved: MoveRequest | undefined;
}

/**
 * One request whose route responds with JSON. What a handler does not read is not made, and a handler that waits for
 * nothing has its response in the same turn: most of these requests are heartbeats.
 */
export class JsonCall implements RouteRequest, BodySink {
  readonly #arrival: JsonArrival;
  readonly #deps: FrontDeps;
  readonly #startedMs: number;
  #chunks: Buffer[] = [];
  /** the room's code, in a cluster where this hub has the room */
  #roomCode: string | undefined;
  body: unknown;

  constructor(arrival: JsonArrival, deps: FrontDeps) {
    this.#arrival = arrival;
    this.#deps = deps;
    this.#startedMs = deps.operations.nowMs();
  }

  get code() {
    return this.params["code"] ?? "";
  }

  get id() {
    return this.params["id"] ?? "";
  }

  get params() {
    return this.#arrival.match.params;
  }

  get query() {
    return queryOf(this.#arrival.request.url ?? "/");
  }

  get peer() {
    const peer = this.#deps.peers.peerOf(this.#arrival.request);
    peer.holder = this.#arrival.access?.holder;
    return peer;
  }

  get onlyIfNew() {
    return this.#arrival.request.headers["if-none-match"] === "*";
  }

  get shape() {
    return clientShape(this.#arrival.request);
  }

  get origin() {
    return this.#deps.peers.originOf(this.#arrival.request);
  }

  begin(): void {
    const { request, response, route } = this.#arrival;
    if (!route.hasBody) {
      // The parser still has the rest of what was read, and may find that it was no request.
      process.nextTick(handle, this);
      return;
    }
    const { world, limits } = this.#deps;
    readBody(world, request, response, managementBodyLimits(limits), this);
  }

  onChunk(chunk: Buffer): boolean {
    this.#chunks.push(chunk);
    return true;
  }

  onOver(error?: unknown): void {
    if (error !== undefined) this.#arrival.refuse(error);
    else this.handle();
  }

  handle(): void {
    const { route } = this.#arrival;
    const { registrations, registry, wallMs } = this.#deps.operations;
    try {
      const refusal = this.#arrival.access?.refusal(wallMs());
      if (refusal !== undefined) throw refusal;
      if (route.hasBody) this.body = jsonIn(Buffer.concat(this.#chunks));
      if (registrations !== undefined) {
        this.#roomCode = registry.findRoom(this.code)?.code;
        // The room may have left while the body arrived.
        if (this.#roomCode !== undefined) registrations.requireHere(this.#roomCode);
      }
      const result = route.handle(this, this.#deps);
      if (result instanceof Promise) this.#sendLater(result);
      else this.#send(result);
    } catch (error) {
      this.#fail(error);
    }
  }

  #sendLater(result: Promise<RouteResponse>): void {
    result.then((response) => this.#send(response)).catch((error: unknown) => this.#fail(error));
  }

  #send(result: RouteResponse): void {
    // As text it is one write with the head.
    const json = "json" in result ? result.json : JSON.stringify(result.body);
    const { response, requestId, route } = this.#arrival;
    const head = headPairs(requestId, "openai", jsonHeaders);
    head.push("x-request-id", requestId);
    if (route.page !== undefined) head.push("vary", "Accept");
    head.push("content-length", String(Buffer.byteLength(json)));
    response.writeHead(result.status, head);
    response.end(json);
  }

  #fail(error: unknown): void {
    const { request, route, refuse, onMoved } = this.#arrival;
    const hasMoved = error instanceof HubError && error.code === "home_elsewhere";
    const { hasBody: isRead } = route;
    const isWhole = isRead || !hasBody(request);
    if (!hasMoved || !isWhole || this.#roomCode === undefined || onMoved === undefined)
      return refuse(error);
    onMoved(this.#roomCode, { body: isRead ? this.#chunks : [], startedMs: this.#startedMs });
  }
}

function handle(call: JsonCall): void {
  call.handle();
}
