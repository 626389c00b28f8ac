import { HubUnreachableError, type Invite } from "@roomhub/client";
import {
  HopPool,
  type Onward,
  passingHeaders,
  type PipeOutcome,
  PipedRequest,
  pipeUpgrade,
} from "@roomhub/hub";
import type { Timer, World } from "@roomhub/protocol";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { listenUsually, type LocalServer } from "../local-server.ts";
import { DoorGuard, type DoorRefusal, type DoorRules, fieldsForHub } from "./door-guard.ts";
import { hubDialler } from "./hub-dial.ts";
import { refuseUpgrade, sendRefusal } from "./refuse.ts";

/** One request that the door has served, or refused. It has nothing secret: no query, no headers. */
export interface DoorRequest {
  method: string;
  path: string;
  /** 101 for a WebSocket that was opened; undefined when the client left before there was a response */
  status: number | undefined;
  tookMs: number;
  /** to the client, heads included */
  bytes: number;
  /** why the response is not whole */
  problem: string | undefined;
}

export interface DoorOptions extends DoorRules {
  /** undefined: {@link usualDoorPort}, or any free port when it is in use */
  port: number | undefined;
  room: Invite;
  /** of the hub; undefined where an authority vouches for it, or for plain HTTP */
  pin: string | undefined;
  /** of a proxy between here and the hub, which leads there by CONNECT; undefined for none */
  proxyUrl: string | undefined;
  /** what the hub gets as the API key; undefined for none */
  hubKey: string | undefined;
  world: World;
  onRequest: (request: DoorRequest) => void;
  /** Serves a request in place of the room. @returns false for one that it leaves to the room */
  serveHere?: (request: IncomingMessage, response: ServerResponse) => boolean;
}

export interface Door extends LocalServer {
  /** requests that have no end yet */
  running: () => number;
  /** Takes no more requests, and closes quiet WebSockets; resolves when all running requests have ended. */
  drain: () => Promise<void>;
}

/** Not 5060 or 5061, as which SIP is known: browsers and Node's `fetch` refuse them. */
const usualDoorPort = 5_055;

/** The hub closes connections that are idle for 65 s, proxies often before that, which is seen at once. */
const idleMs = 50_000;
const sweepMs = 5_000;
/** When the door closes, a WebSocket on which nothing has passed for so long counts as one without a running turn. */
const quietMs = 30_000;
/** Pings and pongs between two sweeps are shorter, messages are longer. */
const maxPingBytes = 32;
/** A close frame with the code 1001, as the hub sends it when it stops. */
const goingAway = Buffer.from([0x88, 2, 0x03, 0xe9]);
/** The hub has the limits; these let it say so. */
const maxHeaderBytes = 256 * 1024;

/**
 * Opens a door: an HTTP server on the loopback address that passes requests to one room, adding the room's key.
 *
 * @throws NodeJS.ErrnoException when the port cannot be opened
 */
export async function openDoor(options: DoorOptions): Promise<Door> {
  const { world } = options;
  const door = new DoorServer(options);
  const server = createServer({
    maxHeaderSize: maxHeaderBytes,
    requestTimeout: 0,
    keepAliveTimeout: idleMs,
    shouldUpgradeCallback: ({ headers }: IncomingMessage) =>
      headers.upgrade?.toLowerCase() === "websocket",
  });
  server.maxHeadersCount = 0;
  const serve = (request: IncomingMessage, response: ServerResponse) =>
    door.serve(request, response);
  server.on("request", serve).on("checkContinue", serve).on("checkExpectation", serve);
  server.on("upgrade", (request, socket, head) => door.upgrade({ request, socket, head }));
  const listening = await listenUsually(server, "127.0.0.1", options.port, usualDoorPort);
  const sweep: Timer = world.unref(world.setInterval(() => door.sweep(), sweepMs));
  return {
    port: listening.port,
    running: () => door.running,
    drain: async () => {
      server.close();
      server.closeIdleConnections();
      await door.idle();
    },
    close: async () => {
      world.clearInterval(sweep);
      door.close();
      await listening.close();
    },
  };
}

interface Upgrade {
  request: IncomingMessage;
  socket: Duplex;
  head: Buffer;
}

class DoorServer {
  readonly #options: DoorOptions;
  readonly #guard: DoorGuard;
  readonly #pool: HopPool;
  /** `/rooms/CODE` at the hub, after what a proxy puts before it */
  readonly #roomPath: string;
  /** names and values in turn, of every request to the hub */
  readonly #ownFields: readonly string[];
  /** why the hub was not reached the last time */
  #dialProblem: unknown;
  readonly #webSockets = new Set<OpenWebSocket>();
  #isDraining = false;
  #running = 0;
  #whenIdle: (() => void) | undefined;

  constructor(options: DoorOptions) {
    const { room, pin, proxyUrl, hubKey, world } = options;
    this.#options = options;
    this.#guard = new DoorGuard(options);
    const { host, pathname } = new URL(room.hubUrl);
    this.#roomPath = `${pathname.replace(/\/+$/, "")}/rooms/${room.room}`;
    const key = hubKey === undefined ? [] : ["Authorization", `Bearer ${hubKey}`];
    this.#ownFields = ["Host", host, ...key];
    const dial = hubDialler(room.hubUrl, pin, proxyUrl);
    this.#pool = new HopPool(
      () =>
        dial().catch((error: unknown) => {
          this.#dialProblem = error;
          throw error;
        }),
      world,
      idleMs,
    );
  }

  get running(): number {
    return this.#running;
  }

  serve(request: IncomingMessage, response: ServerResponse): void {
    const served = this.#begin(request);
    const refusal = this.#guard.refusalOfPage(request.headers);
    if (refusal !== undefined) return this.#refuse(response, refusal, served);
    if (isPreflight(request)) return this.#answerPreflight(request, response, served);
    const other = this.#guard.refusalOfKey(request.headers) ?? refusalOfPath(request);
    if (other !== undefined) return this.#refuse(response, other, served);
    if (this.#options.serveHere?.(request, response) === true) {
      response.once("close", () => {
        const status = response.headersSent ? response.statusCode : undefined;
        this.#end(served, status, response.writableFinished ? undefined : "the client left");
      });
      return;
    }
    void new PipedRequest(request, response)
      .sendOver(this.#pool, this.#onward(request))
      .then((outcome) => this.#settle(response, outcome, served));
  }

  upgrade(arriving: Upgrade): void {
    const { request, socket } = arriving;
    const served = this.#begin(request);
    socket.on("error", () => socket.destroy());
    const refusal =
      this.#guard.refusalOfPage(request.headers) ??
      this.#guard.refusalOfKey(request.headers) ??
      refusalOfPath(request);
    const refuse = (why: DoorRefusal) => {
      refuseUpgrade(socket, why);
      this.#end(served, why.status, why.message);
    };
    if (refusal !== undefined) return refuse(refusal);
    const open = { socket: request.socket, bytes: 0, movedMs: served.startedMs };
    this.#webSockets.add(open);
    void pipeUpgrade(this.#pool, this.#onward(request), arriving).then((outcome) => {
      this.#webSockets.delete(open);
      if (outcome === "over") this.#end(served, 101, undefined);
      else refuse(outcome === "untaken" ? this.#unreachable() : disconnected);
    });
  }

  sweep(): void {
    this.#pool.dropOld();
    const nowMs = this.#options.world.monotonicMs();
    for (const one of this.#webSockets) {
      const { socket } = one;
      const bytes = socket.bytesRead + socket.bytesWritten;
      if (bytes - one.bytes > maxPingBytes) one.movedMs = nowMs;
      one.bytes = bytes;
      if (!this.#isDraining || nowMs - one.movedMs < quietMs) continue;
      if (socket.writableEnded) socket.destroy();
      else socket.end(goingAway);
    }
  }

  /** Closes quiet WebSockets from now on. Resolves when no request runs. */
  async idle(): Promise<void> {
    this.#isDraining = true;
    this.sweep();
    if (this.#running > 0) await new Promise<void>((resolve) => (this.#whenIdle = resolve));
  }

  close(): void {
    for (const { socket } of this.#webSockets) socket.destroy();
    this.#pool.destroy();
  }

  #onward({ url = "/", rawHeaders }: IncomingMessage): Onward {
    return {
      path: this.#roomPath + url,
      fields: fieldsForHub(passingHeaders(rawHeaders), this.#ownFields),
    };
  }

  #settle(response: ServerResponse, outcome: PipeOutcome, served: Served): void {
    const status = response.headersSent ? response.statusCode : undefined;
    switch (outcome.kind) {
      case "delivered":
        return this.#end(served, status, undefined);
      case "gone":
        return this.#end(served, status, "the client left");
      case "untaken":
        return this.#refuse(response, this.#unreachable(), served);
      case "broken":
      case "refused": {
        if (status === undefined) return this.#refuse(response, disconnected, served);
        // A truncated response must not look complete.
        response.destroy();
        return this.#end(served, status, disconnected.message);
      }
    }
  }

  #unreachable(): DoorRefusal {
    const { hubUrl } = this.#options.room;
    const { message, hint, isTlsProblem } = new HubUnreachableError(hubUrl, this.#dialProblem);
    return isTlsProblem
      ? { status: 502, code: "hub_not_trusted", message: `${message}.`, hint: sentenceless(hint) }
      : { ...{ status: 503, code: "hub_unreachable", message: `${message}.` }, hint, ...soon };
  }

  #refuse(response: ServerResponse, refusal: DoorRefusal, served: Served): void {
    const { origin } = served.request.headers;
    if (response.destroyed) return this.#end(served, undefined, "the client left");
    response.once("close", () => this.#end(served, refusal.status, refusal.message));
    const isForPage = this.#guard.allows(origin);
    sendRefusal(response, refusal, isForPage ? { "access-control-allow-origin": origin } : {});
  }

  #answerPreflight(request: IncomingMessage, response: ServerResponse, served: Served): void {
    const { origin = "", "access-control-request-headers": headers = "" } = request.headers;
    response.once("close", () => this.#end(served, 204, undefined));
    response.writeHead(204, {
      "access-control-allow-origin": origin,
      "access-control-allow-methods": "GET, HEAD, POST, PUT, DELETE",
      "access-control-allow-headers": headers,
      "access-control-max-age": "600",
      vary: "Origin, Access-Control-Request-Headers",
    });
    response.end();
  }

  #begin(request: IncomingMessage): Served {
    this.#running++;
    const { socket } = request;
    const startedMs = this.#options.world.monotonicMs();
    return { request, socket, startedMs, startBytes: socket.bytesWritten };
  }

  #end(served: Served, status: number | undefined, problem: string | undefined): void {
    const { request, socket, startedMs, startBytes } = served;
    this.#options.onRequest({
      method: request.method ?? "",
      path: (request.url ?? "").replace(/\?.*$/s, ""),
      status,
      tookMs: this.#options.world.monotonicMs() - startedMs,
      bytes: socket.bytesWritten - startBytes,
      problem,
    });
    this.#running--;
    if (this.#running === 0) this.#whenIdle?.();
  }
}

interface Served {
  request: IncomingMessage;
  socket: IncomingMessage["socket"];
  startedMs: number;
  startBytes: number;
}

interface OpenWebSocket {
  socket: IncomingMessage["socket"];
  /** that had passed at the last sweep */
  bytes: number;
  /** of the last sweep that found more than pings */
  movedMs: number;
}

const soon = { retryAfterSeconds: 2 };

const disconnected: DoorRefusal = {
  ...{ status: 502, code: "hub_disconnected", ...soon },
  message: "The hub closed the connection before its response was whole.",
  hint: "send the request again; the hub may be restarting",
};

function isPreflight({ method, headers }: IncomingMessage): boolean {
  return method === "OPTIONS" && headers["access-control-request-method"] !== undefined;
}

function refusalOfPath({ url = "", headers }: IncomingMessage): DoorRefusal | undefined {
  if (/^\/v1(?:[/?]|$)/.test(url)) return undefined;
  return {
    ...{ status: 404, code: "not_found" },
    message: "This door serves the room's API under /v1.",
    hint: `use the base URL http://${headers.host ?? "127.0.0.1"}/v1`,
  };
}

/** Hints of the SDK are sentences; those of refusals become one. */
function sentenceless(hint: string): string {
  return hint.replace(/\.$/, "");
}
