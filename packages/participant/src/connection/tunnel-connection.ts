import type { IncomingMessage } from "node:http";
import {
  AgentSession,
  CLOSE_CODES,
  type IncomingRequest,
  type RequestBodyHandler,
  TUNNEL_SUBPROTOCOL,
  type TunnelStatus,
  WS_LIMITS,
  wsTransport,
} from "@roomhub/tunnel";
import { WebSocket } from "ws";
import type { ConnectionEvent } from "./connection-chart.ts";
import { judgeUpgrade, refusal, type Verdict } from "./hub-verdict.ts";
import { proxyAgentFor, type ProxyEnvironment } from "./proxy.ts";
import type { ParticipantTiming } from "../timing.ts";

export interface TunnelConnectionOptions {
  url: URL;
  token: string;
  env: ProxyEnvironment;
  timing: ParticipantTiming;
  maxStreams: number;
  /** The provider's known capabilities when the tunnel opens. */
  capabilities: () => Record<string, string>;
  /** The provider's status when the tunnel opens; send later changes with `sendStatus`. */
  status: () => TunnelStatus;
  /** HELLO was received: requests follow. */
  onOpened: () => void;
  onRequest: (request: IncomingRequest) => RequestBodyHandler;
  /** The hub is stopping: it sends no new requests, and closes the tunnel when running ones have finished. */
  onGoAway: () => void;
  /** Called once, last, also after a failed dial. Never from the constructor, and not after `close()`. */
  onEnded: (verdict: Verdict) => void;
  onFault: (error: unknown) => void;
}

/** Far more than any error response of a hub. */
const maxRefusalBytes = 8 * 1024;

/** One dial and its tunnel. Owns the WebSocket until it has ended. */
export class TunnelConnection {
  readonly #options: TunnelConnectionOptions;
  readonly #dial = new AbortController();
  #socket: WebSocket | undefined;
  #session: AgentSession | undefined;
  #dialTimer: NodeJS.Timeout | undefined;
  #pongDueMs: number | undefined;
  #hasEnded = false;
  #onEnded: TunnelConnectionOptions["onEnded"];

  constructor(options: TunnelConnectionOptions) {
    this.#options = options;
    this.#onEnded = options.onEnded;
    const { url, token, env, timing } = options;
    this.#dialTimer = setTimeout(() => {
      this.#end(retry(`no tunnel to ${url.host} within ${timing.dialMs / 1_000} s`));
    }, timing.dialMs);
    try {
      const agent = proxyAgentFor(url, env, this.#dial.signal);
      const socket = new WebSocket(url, TUNNEL_SUBPROTOCOL, {
        ...WS_LIMITS,
        headers: { authorization: `Bearer ${token}` },
        followRedirects: false,
        ...(agent === undefined ? {} : { agent }),
      });
      this.#socket = socket;
      socket.on("open", () => this.#onOpen(socket));
      socket.on("pong", () => {
        this.#pongDueMs = undefined;
      });
      socket.on("error", (error) => {
        if (this.#session === undefined)
          this.#end(retry(`no tunnel to ${url.host}: ${error.message}`));
      });
      socket.on("unexpected-response", (_request, response) => this.#onRefused(response));
    } catch (error) {
      const reason = `no tunnel to ${url.host}: ${(error as Error).message}`;
      process.nextTick(() => this.#end(retry(reason)));
    }
  }

  sendStatus(status: TunnelStatus): void {
    this.#session?.sendStatus(status);
  }

  /** No new requests; running ones continue. */
  goAway(reason: string): void {
    this.#session?.goAway(reason);
  }

  /** Streams with an incomplete response. */
  get activeStreams(): number {
    return this.#session?.activeStreams ?? 0;
  }

  tick(nowMs: number): void {
    this.#session?.tick(nowMs);
    if (this.#pongDueMs === undefined || nowMs < this.#pongDueMs) return;
    this.#end(retry("no pong from the hub after this machine slept"));
  }

  /** The machine slept: the connection may be dead without a socket error. */
  wake(nowMs: number): void {
    if (this.#session === undefined) return this.#end(retry("this machine slept"));
    this.#pongDueMs = nowMs + this.#options.timing.wakePongMs;
    this.#socket?.ping();
  }

  /** Goes on until its streams have ended. @param onEnded - in place of the one so far */
  retire(onEnded: () => void): void {
    this.#onEnded = onEnded;
  }

  /** Ends running streams. `onEnded` is no longer called. */
  close(code: number, reason: string): void {
    this.#hasEnded = true;
    clearTimeout(this.#dialTimer);
    if (this.#session !== undefined) this.#session.close(code, reason);
    else this.#terminate();
  }

  #onOpen(socket: WebSocket): void {
    if (this.#hasEnded) return socket.terminate();
    const { maxStreams, capabilities, onRequest, onFault } = this.#options;
    // In this turn, or the hub's first message is lost.
    const session = new AgentSession(wsTransport(socket), {
      maxStreams,
      requestWindowBytes: undefined,
      capabilities: capabilities(),
      pingIntervalMs: undefined,
      handlers: {
        onHello: () => this.#onHello(),
        onRequest,
        onGoAway: () => {
          if (!this.#hasEnded) this.#options.onGoAway();
        },
        onClose: (code, reason) => this.#end(judgeClose(code, reason)),
        onError: onFault,
      },
    });
    this.#session = session;
    // Sent in one message with HELLO, so that no request arrives in between.
    session.sendStatus(this.#options.status());
  }

  #onHello(): void {
    if (this.#hasEnded) return;
    clearTimeout(this.#dialTimer);
    this.#options.onOpened();
  }

  #onRefused(response: IncomingMessage): void {
    // The dial timer limits the wait.
    void readStart(response).then((body) => {
      const { statusCode: status = 0, headers } = response;
      const refused = { status, retryAfter: headers["retry-after"], body };
      this.#end(judgeUpgrade(this.#options.url.host, refused));
    });
  }

  #end(verdict: Verdict): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    clearTimeout(this.#dialTimer);
    this.#terminate();
    this.#onEnded(verdict);
  }

  #terminate(): void {
    this.#socket?.terminate();
    // Also ends a connection to a proxy that has not responded to CONNECT, which the WebSocket does not have yet.
    this.#dial.abort();
  }
}

/** @returns the received text of the body, at most 8 KiB */
async function readStart(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const part of response as AsyncIterable<Buffer>) {
      parts.push(part);
      bytes += part.length;
      if (bytes >= maxRefusalBytes) break;
    }
  } catch {
    // Truncated: the status is enough.
  }
  return Buffer.concat(parts).toString("utf8", 0, maxRefusalBytes);
}

function retry(reason: string): Verdict {
  const event: ConnectionEvent = { type: "failed" };
  return { event, reason };
}

function judgeClose(code: number, reason: string): Verdict {
  if (code === CLOSE_CODES.replaced) {
    return refusal({
      code: "replaced",
      reason: "Another agent joined with this id and took over.",
      hint: "Run only one of them, or choose another id.",
    });
  }
  if (code === CLOSE_CODES.goingAway) return retry("the hub is restarting");
  // RFC 6455 §7.1.5: the connection closed without a close frame.
  if (code === 1006) return retry("the connection to the hub was lost");
  return retry(`the tunnel broke (${reason === "" ? `code ${code}` : reason})`);
}
