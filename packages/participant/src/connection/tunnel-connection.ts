import { HOME_EPOCH_HEADER, PIPE_HEADER } from "@roomhub/protocol";
import type { ClientRequest, IncomingMessage } from "node:http";
import { networkInterfaces } from "node:os";
import {
  AgentSession,
  CLOSE_CODES,
  type Hello,
  type IncomingRequest,
  type RequestBodyHandler,
  TUNNEL_SUBPROTOCOL,
  type TunnelStatus,
  WS_LIMITS,
  wsTransport,
} from "@roomhub/tunnel";
import { WebSocket } from "ws";
import { DialCourse, type DialCourseOptions, type DialStop } from "./dial-course.ts";
import { judgeClose, judgeUpgrade, retry, stale, type Verdict } from "./hub-verdict.ts";
import { hasAddress } from "./own-addresses.ts";
import { proxyAgentFor, type ProxyEnvironment } from "./proxy.ts";
import { maskOptions, type TunnelMask } from "./tunnel-mask.ts";
import type { ParticipantTiming } from "../timing.ts";

export interface TunnelConnectionOptions extends DialCourseOptions {
  token: string;
  /** Names this run of the participant. */
  bootId: string;
  /** The session of an earlier connection, which is to go on over this one. */
  resumes: AgentSession | undefined;
  /** Without that session it is of no use. */
  resumesOnly?: boolean;
  env: ProxyEnvironment;
  mask: TunnelMask;
  timing: Pick<ParticipantTiming, "dialMs" | "clusterDialMs" | "wakePongMs" | "resumePongMs">;
  /** Limits the dial until the hub's machine, or a proxy, has accepted the connection. */
  reachMs: number | undefined;
  /** It was accepted. */
  onReached: () => void;
  maxStreams: number;
  /** The provider's known capabilities when the tunnel opens. */
  capabilities: () => Record<string, string>;
  /** The provider's status when the tunnel opens; send later changes with `sendStatus`. */
  status: () => TunnelStatus;
  /** HELLO was received: requests follow. @param resumed - the session of `resumes`, when that goes on */
  onOpened: (resumed: AgentSession | undefined) => void;
  onRequest: (request: IncomingRequest) => RequestBodyHandler;
  /** Called once: the hub sends no new requests, and closes the tunnel when running ones have finished. */
  onGoAway: () => void;
  /**
   * Called once, last, also after a failed dial. Never from the constructor, and not after `close()`.
   *
   * @param broken - the session, when another connection can take it over; it belongs to the callee now
   */
  onEnded: (verdict: Verdict, broken: AgentSession | undefined) => void;
  onFault: (error: unknown) => void;
}

/** Far more than any error response of a hub. */
const maxRefusalBytes = 8 * 1024;

/** One dial and its tunnel. Owns the WebSocket until it has ended, and the session until that is handed over. */
export class TunnelConnection {
  readonly #options: TunnelConnectionOptions;
  readonly #course: DialCourse;
  readonly #dial = new AbortController();
  #dialTimer: NodeJS.Timeout | undefined;
  #reachTimer: NodeJS.Timeout | undefined;
  #socket: WebSocket | undefined;
  #session: AgentSession | undefined;
  #goAwayReason: string | undefined;
  /** where the connection begins on this machine */
  #localAddress: string | undefined;
  #pongDueMs: number | undefined;
  #breakReason: string | undefined;
  #staleReason: string | undefined;
  #isDismissed = false;
  #hasEnded = false;
  #onEnded: TunnelConnectionOptions["onEnded"];

  constructor(options: TunnelConnectionOptions) {
    this.#options = options;
    this.#onEnded = options.onEnded;
    this.#course = new DialCourse(options);
    this.#connect(this.#course.stop);
  }

  /** Where it is, or is going. */
  get stop(): DialStop {
    return this.#course.stop;
  }

  sendStatus(status: TunnelStatus): void {
    this.#session?.sendStatus(status);
  }

  /** No new requests; running ones continue. */
  goAway(reason: string): void {
    this.#goAwayReason = reason;
    this.#session?.goAway(reason);
  }

  /** Streams with an incomplete response. */
  get activeStreams(): number {
    return this.#session?.activeStreams ?? 0;
  }

  /** @param nowMs - on a clock that counts the time that this machine slept */
  tick(nowMs: number): void {
    this.#session?.tick(nowMs);
    if (this.#hasLostAddress()) return this.#break("this machine has another address");
    if (this.#pongDueMs === undefined || nowMs < this.#pongDueMs) return;
    this.#break("no pong from the hub after this machine slept");
  }

  /** The machine slept: the connection may be dead without a socket error. */
  wake(nowMs: number): void {
    if (this.#session === undefined) return this.#end(retry("this machine slept"));
    const { wakePongMs, resumePongMs } = this.#options.timing;
    const canResume = this.#session.resumeId !== undefined;
    this.#pongDueMs = nowMs + (canResume ? resumePongMs : wakePongMs);
    this.#socket?.ping();
  }

  /** Goes on until its streams have ended. @param onEnded - in place of the one so far */
  retire(onEnded: (broken: AgentSession | undefined) => void): void {
    this.#onEnded = (_verdict, broken) => onEnded(broken);
  }

  /** Another connection, for the session of this one alone. @param url - where it goes when it cannot be reached where it was */
  redial(
    session: AgentSession,
    url: URL,
    hooks: Pick<TunnelConnectionOptions, "onOpened" | "onEnded">,
  ): TunnelConnection {
    const from = { url, resumes: session, resumesAt: this.stop, resumesOnly: true };
    const unheard = { reachMs: undefined, onReached() {}, onGoAway() {} };
    return new TunnelConnection({ ...this.#options, ...from, ...unheard, ...hooks });
  }

  /** Ends running streams. `onEnded` is no longer called. */
  close(code: number, reason: string): void {
    this.#hasEnded = true;
    this.#stopTimers();
    if (this.#session !== undefined) this.#session.close(code, reason);
    else this.#terminate();
  }

  #connect({ url, isPiped }: DialStop): void {
    const { token, env, mask, resumes, fence } = this.#options;
    this.#startTimers(url);
    const sessionId = resumes?.resumeId;
    try {
      const agent = proxyAgentFor(url, env, this.#dial.signal);
      const socket = new WebSocket(url, TUNNEL_SUBPROTOCOL, {
        ...WS_LIMITS,
        ...maskOptions(url, mask),
        headers: {
          authorization: `Bearer ${token}`,
          [HOME_EPOCH_HEADER]: String(fence.highest),
          ...(isPiped ? { [PIPE_HEADER]: "1" } : {}),
          // For what is in front of several hubs; the secret is in HELLO alone.
          ...(sessionId === undefined ? {} : { "x-roomhub-session": sessionId }),
        },
        followRedirects: false,
        ...(agent === undefined ? {} : { agent }),
        finishRequest: (request) => this.#finishRequest(request),
      });
      this.#socket = socket;
      socket.on("upgrade", (response) => {
        this.#localAddress = response.socket.localAddress;
      });
      socket.on("open", () => this.#onOpen(socket));
      socket.on("pong", () => {
        this.#pongDueMs = undefined;
      });
      socket.on("error", (error) => {
        if (this.#session === undefined && this.#socket === socket)
          this.#fail({
            ...retry(`no tunnel to ${url.host}: ${error.message}`),
            isRefused: "code" in error && error.code === "ECONNREFUSED",
          });
      });
      socket.on("unexpected-response", (_request, response) => {
        this.#onRefused(socket, response);
      });
    } catch (error) {
      const reason = `no tunnel to ${url.host}: ${(error as Error).message}`;
      process.nextTick(() => this.#fail(retry(reason)));
    }
  }

  /** Of one address. A hub that another one named has less time: that one can pass the tunnel on. */
  #startTimers(url: URL): void {
    this.#stopTimers();
    const { timing, resumes, reachMs } = this.#options;
    const { isElsewhere } = this.#course;
    const dialMs = isElsewhere ? Math.min(timing.dialMs, timing.clusterDialMs) : timing.dialMs;
    this.#dialTimer = setTimeout(() => {
      // Dials for waiting streams differ in their limits: one reason for all of them is one notice.
      const limit = resumes === undefined ? `within ${dialMs / 1_000} s` : "yet";
      this.#fail(retry(`no tunnel to ${url.host} ${limit}`));
    }, dialMs);
    if (reachMs === undefined) return;
    this.#reachTimer = setTimeout(() => {
      this.#fail(retry(`${url.host} was not reached within ${reachMs / 1_000} s`));
    }, reachMs);
  }

  #finishRequest(request: ClientRequest): void {
    const reached = (): void => {
      clearTimeout(this.#reachTimer);
      this.#options.onReached();
    };
    request.once("socket", (socket) => {
      // A proxy's socket comes when the proxy has reached the hub.
      if (socket.connecting) socket.once("connect", reached);
      else reached();
    });
    request.end();
  }

  #onOpen(socket: WebSocket): void {
    if (this.#hasEnded) return socket.terminate();
    const { maxStreams, bootId, resumes, resumesOnly } = this.#options;
    const { capabilities, status, onRequest, onFault } = this.#options;
    // In this turn, or the hub's first message is lost.
    const session = new AgentSession(wsTransport(socket), {
      maxStreams,
      requestWindowBytes: undefined,
      capabilities: capabilities(),
      pingIntervalMs: undefined,
      ...{ bootId, resumes, resumesOnly },
      handlers: {
        onHello: (hello) => this.#onHello(hello, undefined),
        onResume: (earlier, hello) => this.#onHello(hello, earlier),
        onInterrupted: () => this.#onInterrupted(),
        onRequest,
        onGoAway: () => this.#dismiss(),
        onClose: (code, reason) => this.#onClose(socket, code, reason),
        onError: onFault,
      },
    });
    this.#session = session;
    // Sent in one message with HELLO, so that no request arrives in between. A hub that resumes knows no capabilities but
    // those of STATUS.
    const learned = resumes === undefined ? {} : { capabilities: capabilities() };
    session.sendStatus({ ...status(), ...learned });
    if (this.#goAwayReason !== undefined) session.goAway(this.#goAwayReason);
  }

  #onHello({ homeEpoch }: Hello, resumed: AgentSession | undefined): void {
    if (resumed !== undefined) this.#session = resumed;
    if (this.#hasEnded) return;
    const { url } = this.#course.stop;
    const refusal = this.#options.fence.refusalOf(homeEpoch);
    if (refusal !== undefined && resumed === undefined) {
      this.#staleReason = `the hub at ${url.host} ${refusal}`;
      this.#session?.close(CLOSE_CODES.done, "another hub is the home of the room");
      return;
    }
    this.#stopTimers();
    this.#options.onOpened(resumed);
    if (refusal === undefined || this.#hasEnded) return;
    // A session's streams end where they began; new requests come from the home alone.
    this.goAway("another hub is the home of the room");
    this.#dismiss();
  }

  #dismiss(): void {
    if (this.#hasEnded || this.#isDismissed) return;
    this.#isDismissed = true;
    this.#options.onGoAway();
  }

  #onInterrupted(): void {
    this.#end(retry(this.#breakReason ?? "the connection to the hub was lost"), this.#session);
  }

  #onClose(socket: WebSocket, code: number, reason: string): void {
    // A claim that was rejected once is rejected again. Locally, the same code means that the hub did not respond.
    const isByHub = socket.readyState === WebSocket.CLOSED;
    const { resumeRefused, protocolError } = CLOSE_CODES;
    if (code === resumeRefused || (code === protocolError && isByHub))
      this.#options.resumes?.close(CLOSE_CODES.done, "the hub refused to resume the session");
    const broken = this.#breakReason;
    const verdict = broken === undefined ? judgeClose(code, reason) : retry(broken);
    this.#end(this.#staleReason === undefined ? verdict : stale(this.#staleReason));
  }

  /** Looked at only where another connection can take over: what ran to an older hub would end. */
  #hasLostAddress(): boolean {
    if (this.#localAddress === undefined || this.#session?.resumeId === undefined) return false;
    return !this.#session.isInterrupted && !hasAddress(networkInterfaces(), this.#localAddress);
  }

  #onRefused(socket: WebSocket, response: IncomingMessage): void {
    const { host } = this.#course.stop.url;
    // The dial timer limits the wait.
    void readStart(response).then((body) => {
      if (this.#hasEnded || this.#socket !== socket) return;
      const { statusCode: status = 0, headers } = response;
      const redirect = this.#course.follow(status, body);
      if (redirect?.kind === "stop") return this.#reconnect(redirect.stop);
      if (redirect?.kind === "behind")
        return this.#end(stale(`the hub at ${host} ${redirect.reason}`));
      const refused = { status, retryAfter: headers["retry-after"], body };
      const hasSession = this.#options.resumes?.isInterrupted === true;
      this.#fail(judgeUpgrade(host, refused, hasSession));
    });
  }

  /** An address leads to no tunnel. What a hub that was named says is not believed before the one that was given. */
  #fail(verdict: Verdict): void {
    if (this.#hasEnded) return;
    const back = this.#session === undefined ? this.#course.goBack() : undefined;
    if (back === undefined) this.#end(verdict);
    else this.#reconnect(back);
  }

  #reconnect(stop: DialStop): void {
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.terminate();
    this.#connect(stop);
  }

  /** Its streams wait for another connection where the hub resumes, else they end. */
  #break(reason: string): void {
    this.#breakReason = reason;
    this.#session?.interrupt(reason);
  }

  #end(verdict: Verdict, broken?: AgentSession): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#stopTimers();
    this.#terminate();
    this.#onEnded(verdict, broken);
  }

  #stopTimers(): void {
    clearTimeout(this.#dialTimer);
    clearTimeout(this.#reachTimer);
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
