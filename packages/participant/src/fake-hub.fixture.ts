import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import {
  RequesterSession,
  type RequestHead,
  type RequestStream,
  type ResumeDecision,
  type ResumeOffer,
  TUNNEL_SUBPROTOCOL,
  type TunnelStatus,
  WS_LIMITS,
  wsTransport,
} from "@roomhub/tunnel";
import { WebSocketServer } from "ws";

interface SeenCall {
  method: string;
  url: string;
  token: string | undefined;
  /** `If-None-Match: *` */
  onlyIfNew?: true;
  body: string;
}

/** A hub of one room: joins, heartbeats, leaves and tunnels, each of which can be made to fail. */
export interface FakeHub extends AsyncDisposable {
  url: string;
  port: number;
  calls: SeenCall[];
  statuses: TunnelStatus[];
  sessions: RequesterSession[];
  goAways: string[];
  upgrades: IncomingMessage[];
  /** Responds instead of the hub where it returns a status. */
  failWith: (call: SeenCall) => { status: number; code: string } | undefined;
  failUpgradeWith: () => number | undefined;
  /** how long a tunnel's handshake takes */
  upgradeDelayMs: number;
  /** of failed upgrades, in place of an error */
  upgradeBody: string | undefined;
  /** of failed upgrades */
  retryAfter: string | undefined;
  /** Does what the request says and breaks the connection off in place of a response. */
  losesResponseTo: (call: SeenCall) => boolean;
  tunnelUrl: string | undefined;
  /** of its cluster, in responses to joins */
  hubs: string[] | undefined;
  /** of the room's home, in responses to joins and in HELLO; undefined where rooms have no homes */
  homeEpoch: number | undefined;
  /** How long it keeps the streams of a broken connection; 0 at first, as older hubs do. */
  resumeMs: number;
  /** Sessions that can be resumed, by their names; without one of them, the hub has forgotten it. */
  resumable: Map<string, { session: RequesterSession; secret: string }>;
  /** what agents offered to resume with */
  offers: ResumeOffer[];
  /** Breaks every connection without a close frame. */
  cut(): void;
  /** The latest tunnel, once its agent has said HELLO. */
  nextSession(): Promise<RequesterSession>;
  close(): Promise<void>;
}

export async function startFakeHub(port = 0): Promise<FakeHub> {
  let waiting: ((session: RequesterSession) => void)[] = [];
  let joins = 0;
  const sockets = new WebSocketServer({
    noServer: true,
    ...WS_LIMITS,
    handleProtocols: () => TUNNEL_SUBPROTOCOL,
  });
  const server = createServer((incoming, response) => {
    let body = "";
    incoming.on("data", (part: Buffer) => (body += part.toString()));
    incoming.on("end", () => {
      const token = incoming.headers["x-participant-token"]?.toString();
      const isForNew = incoming.headers["if-none-match"] === "*";
      const call: SeenCall = {
        ...{ method: incoming.method ?? "", url: incoming.url ?? "", token, body },
        ...(isForNew ? { onlyIfNew: true } : {}),
      };
      hub.calls.push(call);
      if (hub.losesResponseTo(call)) response.destroy();
      else respond(call, response);
    });
  });
  server.on("upgrade", (request, socket, head) => {
    hub.upgrades.push(request);
    // Of an agent that stops while it is refused.
    socket.on("error", () => {});
    const status = hub.failUpgradeWith();
    if (status !== undefined) {
      const code = status === 429 ? "tunnel_flapping" : "participant_token_invalid";
      const body = hub.upgradeBody ?? JSON.stringify(errorBody(code));
      const pause = hub.retryAfter === undefined ? "" : `retry-after: ${hub.retryAfter}\r\n`;
      socket.end(
        `HTTP/1.1 ${status} No\r\ncontent-length: ${Buffer.byteLength(body)}\r\n${pause}connection: close\r\n\r\n${body}`,
      );
      return;
    }
    setTimeout(() => accept(request, socket, head), hub.upgradeDelayMs);
  });

  function accept(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    sockets.handleUpgrade(request, socket, head, (webSocket) => {
      const session: RequesterSession = new RequesterSession(wsTransport(webSocket), {
        responseWindowBytes: 64 * 1024,
        maxStreams: 64,
        pingIntervalMs: undefined,
        resumeMs: hub.resumeMs,
        epoch: () => hub.homeEpoch,
        handlers: {
          decideResume: (offer) => decideResume(hub, offer, session),
          onHello() {
            hub.sessions.push(session);
            const listeners = waiting;
            waiting = [];
            for (const listener of listeners) listener(session);
          },
          onStatus: (status) => void hub.statuses.push(status),
          onLife() {},
          onGoAway: (reason) => void hub.goAways.push(reason),
          onClose() {},
          onError(error) {
            throw error;
          },
        },
      });
    });
  }

  function respond(call: SeenCall, response: ServerResponse): void {
    const failure = hub.failWith(call);
    if (failure !== undefined) {
      const { status, code } = failure;
      return sendJson(response, status, errorBody(code));
    }
    if (call.url.endsWith("/join")) {
      joins += 1;
      const url =
        hub.tunnelUrl ?? `ws://127.0.0.1:${hub.port}/v1/rooms/ABC234/participants/a/tunnel`;
      return sendJson(response, 201, {
        participant: {},
        roomId: "r",
        heartbeatWithinMs: 10_000,
        tunnel: { url },
        // Who proves a token keeps it.
        ...(call.token === undefined ? { participantToken: `rhp_${joins}` } : {}),
        ...(hub.hubs === undefined ? {} : { hubs: hub.hubs }),
        ...(hub.homeEpoch === undefined ? {} : { homeEpoch: hub.homeEpoch }),
        ...(call.body.includes('"ownFirst":true') ? { clientKey: `rhc_${joins}` } : {}),
      });
    }
    sendJson(response, 200, { success: true });
  }

  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const actualPort = (server.address() as AddressInfo).port;
  const close = async () => {
    for (const socket of sockets.clients) socket.terminate();
    server.closeAllConnections();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  };
  const hub: FakeHub = {
    url: `http://127.0.0.1:${actualPort}`,
    port: actualPort,
    calls: [],
    statuses: [],
    sessions: [],
    goAways: [],
    upgrades: [],
    failWith: () => undefined,
    upgradeDelayMs: 0,
    failUpgradeWith: () => undefined,
    upgradeBody: undefined,
    retryAfter: undefined,
    losesResponseTo: () => false,
    tunnelUrl: undefined,
    hubs: undefined,
    homeEpoch: undefined,
    resumeMs: 0,
    resumable: new Map(),
    offers: [],
    cut() {
      for (const socket of sockets.clients) socket.terminate();
    },
    nextSession: () => new Promise((resolve) => waiting.push(resolve)),
    close,
    [Symbol.asyncDispose]: close,
  };
  return hub;
}

function decideResume(hub: FakeHub, offer: ResumeOffer, session: RequesterSession): ResumeDecision {
  hub.offers.push(offer);
  const { claim } = offer;
  const known = claim === undefined ? undefined : hub.resumable.get(claim.id);
  if (known !== undefined) {
    return known.secret === claim?.secret
      ? { kind: "resume", session: known.session }
      : { kind: "refuse", code: 4009, reason: "another secret" };
  }
  const [id, secret] = [`session-${hub.offers.length}`, `secret-${hub.offers.length}`];
  hub.resumable.set(id, { session, secret });
  return { kind: "new", id, secret };
}

function errorBody(code: string) {
  return { error: { message: `no: ${code}`, type: "", param: "", code } };
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

export interface Exchange {
  stream: RequestStream;
  log: string[];
  status: number | undefined;
  headers: Record<string, string>;
  refusal: string | undefined;
  body: string;
  /** while false, nothing of the response counts as read */
  isReading: boolean;
  head: Promise<void>;
  closed: Promise<void>;
}

/** Sends a request as a hub does and writes down the response. */
export function send(
  session: RequesterSession,
  over: Partial<RequestHead> = {},
  body: readonly Buffer[] = [Buffer.from("{}")],
): Exchange {
  const head = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  const exchange = {
    log: [] as string[],
    status: undefined as number | undefined,
    headers: {},
    body: "",
    isReading: true,
    head: head.promise,
    closed: closed.promise,
  } as Exchange;
  exchange.stream = session.open(
    {
      method: "POST",
      path: "/chat/completions",
      headers: { "content-type": "application/json" },
      protocol: "chatCompletions",
      stream: false,
      ...over,
    },
    body,
    {
      onHead(response) {
        exchange.log.push("head");
        exchange.status = response.status;
        exchange.headers = response.headers;
        exchange.refusal = response.refusal;
        head.resolve();
      },
      onData(chunk) {
        exchange.body += chunk.toString("latin1");
        return exchange.isReading;
      },
      onEnd: () => void exchange.log.push("end"),
      onReset: (code, reason) => void exchange.log.push(`reset ${code} ${reason}`),
      onClosed() {
        exchange.log.push("closed");
        closed.resolve();
      },
    },
  );
  return exchange;
}
