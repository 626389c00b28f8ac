import type { World } from "@roomhub/protocol";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { Socket } from "node:net";
import type { FrontDeps } from "./front-deps.ts";
import { Front } from "./front.ts";
import { ParseFailures } from "./parse-failures.ts";
import type { Admitted } from "./route.ts";

/** Room for what another hub says of a client, beside the client's headers. */
const hopHeaderBytes = 4_096;

/** A burst of requests is read in one turn of the event loop; what came before it is not held up by all of them. */
const mostPerTurn = 16;

type Arrival = Pick<Admitted, "request" | "response">;

/**
 * The hub's HTTP/1.1 front. The caller listens and closes. With `deps.piped` the server does not listen: it gets the
 * connections of other hubs, which have no deadlines.
 */
export function createHttpServer(deps: FrontDeps): Server {
  const parseFailures = new ParseFailures(deps.newRequestId, deps.flushing);
  const front = new Front(deps, parseFailures);
  const { limits } = deps;
  const isForHops = deps.piped !== undefined;
  const server = createServer({
    // Node counts URL, names and values, and refuses at its limit; the hub's limit is the largest accepted size.
    maxHeaderSize: limits.headerBytes + 1 + (isForHops ? hopHeaderBytes : 0),
    headersTimeout: isForHops ? 0 : limits.headersReadMs,
    // The gate checks for it: Node would refuse with its own response.
    requireHostHeader: false,
    // Bodies have separate limits, since a long one is legal.
    requestTimeout: 0,
    connectionsCheckingInterval: 1_000,
    keepAliveTimeout: isForHops ? 0 : limits.keepAliveMs,
    // Only WebSockets on their paths are upgrades; `Upgrade: h2c` and others get an ordinary response.
    shouldUpgradeCallback: (request: IncomingMessage) => front.takesUpgrade(request),
  });
  // No cap: Node would drop the surplus silently. The gate counts headers and refuses.
  server.maxHeadersCount = 0;
  const turns = new Turns<Arrival>(deps.world, ({ request, response }) => {
    // Its client may have left while it waited.
    if (!response.destroyed) front.serve(request, response);
  });
  server.on("request", (request, response) => turns.take({ request, response }));
  // The reader of the body sends `100 Continue`; a refusal is sent without it.
  server.on("checkContinue", (request, response) => front.serve(request, response));
  // An Expect other than 100-continue may be ignored (RFC 9110 §10.1.1); Node would refuse with a response of its own.
  server.on("checkExpectation", (request, response) => front.serve(request, response));
  server.on("upgrade", (request, socket, head) => front.upgrade(request, socket, head));
  // Without TLS the stream is the socket.
  server.on("clientError", (error, socket) => parseFailures.onFailure(error, socket as Socket));
  return server;
}

/** So many requests begin in one turn, further ones in the turns after it, in their order. */
export class Turns<Item> {
  readonly #world: World;
  readonly #begin: (item: Item) => void;
  readonly #waiting: Item[] = [];
  #begun = 0;
  #scheduled = false;
  readonly #onTurn = (): void => this.#nextTurn();

  constructor(world: World, begin: (item: Item) => void) {
    this.#world = world;
    this.#begin = begin;
  }

  take(item: Item): void {
    if (this.#begun === mostPerTurn) {
      this.#waiting.push(item);
      return;
    }
    this.#begun++;
    this.#schedule();
    this.#begin(item);
  }

  #nextTurn(): void {
    this.#scheduled = false;
    const due = this.#waiting.splice(0, mostPerTurn);
    this.#begun = due.length;
    if (due.length > 0) this.#schedule();
    for (const item of due) this.#begin(item);
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#world.setImmediate(this.#onTurn);
  }
}
