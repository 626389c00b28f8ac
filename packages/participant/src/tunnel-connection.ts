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
import { refusal, type Verdict } from "./hub-verdict.ts";
import { proxyAgentFor, type ProxyEnvironment } from "./proxy.ts";
import type { ParticipantTiming } from "./timing.ts";

export interface TunnelConnectionOptions {
  url: URL;
  token: string;
  env: ProxyEnvironment;
  timing: ParticipantTiming;
  maxStreams: number;
  /** What is known of the provider when the tunnel opens. */
  capabilities: () => Record<string, string>;
  /** How the provider is when the tunnel opens; later changes go through `sendStatus`. */
  status: () => TunnelStatus;
  /** HELLO came: requests follow. */
  onOpened: () => void;
  onRequest: (request: IncomingRequest) => RequestBodyHandler;
  /** Exactly once, last, also when the dial failed; never from within the constructor. Not after `close()`. */
  onEnded: (verdict: Verdict) => void;
  onFault: (error: unknown) => void;
}

/** One dial and the tunnel that came of it. Owns the WebSocket until it has ended. */
export class TunnelConnection {
  readonly #options: TunnelConnectionOptions;
  #socket: WebSocket | undefined;
  #session: AgentSession | undefined;
  #dialTimer: NodeJS.Timeout | undefined;
  #answerByMs: number | undefined;
  #hasEnded = false;

  constructor(options: TunnelConnectionOptions) {
    this.#options = options;
    const { url, token, env, timing } = options;
    this.#dialTimer = setTimeout(() => {
      this.#end(retry(`no tunnel to ${url.host} within ${timing.dialMs / 1_000} s`));
    }, timing.dialMs);
    try {
      const agent = proxyAgentFor(url, env);
      const socket = new WebSocket(url, TUNNEL_SUBPROTOCOL, {
        ...WS_LIMITS,
        headers: { authorization: `Bearer ${token}` },
        followRedirects: false,
        ...(agent === undefined ? {} : { agent }),
      });
      this.#socket = socket;
      socket.on("open", () => this.#onOpen(socket));
      socket.on("pong", () => {
        this.#answerByMs = undefined;
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

  /** No new requests; those that run go on. */
  goAway(reason: string): void {
    this.#session?.goAway(reason);
  }

  /** Streams without an answer to the end yet. */
  get activeStreams(): number {
    return this.#session?.activeStreams ?? 0;
  }

  tick(nowMs: number): void {
    this.#session?.tick(nowMs);
    if (this.#answerByMs === undefined || nowMs < this.#answerByMs) return;
    this.#end(retry("the hub did not answer after this machine slept"));
  }

  /** The machine slept: the connection may be long dead without anybody having said so. */
  wake(nowMs: number): void {
    if (this.#session === undefined) return this.#end(retry("this machine slept"));
    this.#answerByMs = nowMs + this.#options.timing.wakeAnswerMs;
    this.#socket?.ping();
  }

  /** Ends what runs. `onEnded` is not called any more. */
  close(code: number, reason: string): void {
    this.#hasEnded = true;
    clearTimeout(this.#dialTimer);
    if (this.#session !== undefined) this.#session.close(code, reason);
    else this.#socket?.terminate();
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
        // The hub closes when it has drained; the redial then finds it again, or its successor.
        onGoAway: () => {},
        onClose: (code, reason) => this.#end(judgeClose(code, reason)),
        onError: onFault,
      },
    });
    this.#session = session;
    // Leaves in one message with HELLO, so that no request comes in between.
    session.sendStatus(this.#options.status());
  }

  #onHello(): void {
    if (this.#hasEnded) return;
    clearTimeout(this.#dialTimer);
    this.#options.onOpened();
  }

  #onRefused(response: IncomingMessage): void {
    response.resume();
    this.#end(judgeUpgrade(response.statusCode ?? 0, this.#options.url.host, response));
  }

  #end(verdict: Verdict): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    clearTimeout(this.#dialTimer);
    this.#socket?.terminate();
    this.#options.onEnded(verdict);
  }
}

function retry(reason: string, retryAfterMs?: number): Verdict {
  const event: ConnectionEvent = { type: "failed", retryAfterMs };
  return { event, reason };
}

/** Contract §3: 404 → join again; 401/403 → stop. */
function judgeUpgrade(status: number, host: string, response: IncomingMessage): Verdict {
  if (status === 404)
    return { event: { type: "forgotten" }, reason: "the hub forgot this participant" };
  if (status === 401 || status === 403) {
    return refusal({
      code: "participant_token_invalid",
      reason: `The hub at ${host} refused this participant's tunnel (${status}): its token is not valid any more.`,
      hint: "Join again.",
    });
  }
  const seconds = Number(response.headers["retry-after"] ?? 0);
  const retryAfterMs = Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : undefined;
  return retry(`the hub at ${host} answered ${status} to the tunnel`, retryAfterMs);
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
  // RFC 6455 §7.1.5: nobody closed it, the connection was gone.
  if (code === 1006) return retry("the connection to the hub broke off");
  return retry(`the tunnel broke (${reason === "" ? `code ${code}` : reason})`);
}
