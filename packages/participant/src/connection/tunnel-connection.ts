import {
  certificateProblem,
  HOME_EPOCH_HEADER,
  PIPE_HEADER,
  pinText,
  type Timer,
  type World,
} from "@roomhub/protocol";
import type { ClientRequest, IncomingMessage } from "node:http";
import type { Socket } from "node:net";
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
import { dialAgentFor, type ProxyEnvironment } from "./proxy.ts";
import { maskOptions, type TunnelMask } from "./tunnel-mask.ts";
import type { ParticipantTiming } from "../timing.ts";

export interface TunnelConnectionOptions extends DialCourseOptions {
  token: string;
  /** Names this run of the participant. */
  bootId: string;
  /** The interrupted session that is to be resumed. */
  resumes: AgentSession | undefined;
  /** If that session is lost, this connection is of no use. */
  resumesOnly?: boolean;
  world: World;
  env: ProxyEnvironment;
  mask: TunnelMask;
  timing: Pick<ParticipantTiming, "dialMs" | "clusterDialMs" | "wakePongMs" | "resumePongMs">;
  /** Limits the dial until the hub's machine, or a proxy, has accepted the connection. */
  reachMs: number | undefined;
  /** The hub's machine, or a proxy, has accepted the connection. */
  onReached: () => void;
  maxStreams: number;
  /** The provider's known capabilities when the tunnel opens. */
  capabilities: () => Record<string, string>;
  /** The provider's status when the tunnel opens; send later changes with `sendStatus`. */
  status: () => TunnelStatus;
  /** HELLO was received: requests follow. @param resumed - the session of `resumes`, when the hub resumed it */
  onOpened: (resumed: AgentSession | undefined) => void;
  /** @param epoch - as in the HELLO of the hub that sends it */
  onRequest: (request: IncomingRequest, epoch: number | undefined) => RequestBodyHandler;
  /** Called once: the hub sends no new requests, and closes the tunnel when running ones have finished. */
  onGoAway: () => void;
  /**
   * Called once, last, also after a failed dial. Never from the constructor, and not after `close()`.
   *
   * @param interrupted - the session, when another connection can resume it; it belongs to the callee now
   */
  onEnded: (verdict: Verdict, interrupted: AgentSession | undefined) => void;
  onFault: (error: unknown) => void;
}

/** Far more than any error response of a hub. */
const maxRefusalBytes = 8 * 1024;

/**
 * `dialling`: at one address after the other, until a WebSocket opens. `open`: `lossReason` says why this end gave the
 * connection up, `staleReason` why the hub is not dialled again, `isDismissed` that `onGoAway` was called.
 */
type Phase =
  | { kind: "dialling" }
  | {
      kind: "open";
      socket: WebSocket;
      session: AgentSession;
      pongDueMs: number | undefined;
      lossReason: string | undefined;
      staleReason: string | undefined;
      isDismissed: boolean;
    }
  | { kind: "ended" };

/** One dial and its tunnel. Owns the WebSocket until it has ended, and the session until that is interrupted. */
export class TunnelConnection {
  readonly #options: TunnelConnectionOptions;
  readonly #course: DialCourse;
  readonly #dial = new AbortController();
  #phase: Phase = { kind: "dialling" };
  #dialTimer: Timer | undefined;
  #reachTimer: Timer | undefined;
  #socket: WebSocket | undefined;
  /** where the connection begins on this machine */
  #localAddress: string | undefined;
  #goAwayReason: string | undefined;
  /** of the room's home, in the hub's HELLO */
  #epoch: number | undefined;
  #onEnded: TunnelConnectionOptions["onEnded"];

  constructor(options: TunnelConnectionOptions) {
    this.#options = options;
    this.#onEnded = options.onEnded;
    this.#course = new DialCourse(options);
    this.#connect(this.#course.stop);
  }

  /** The address that is dialled, or was reached. */
  get stop(): DialStop {
    return this.#course.stop;
  }

  get #session(): AgentSession | undefined {
    return this.#phase.kind === "open" ? this.#phase.session : undefined;
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

  /** Every response is complete, and the hub has acknowledged all of it, where it acknowledges. */
  get isDone(): boolean {
    return this.#session?.isDone ?? true;
  }

  /** @param nowMs - on a clock that counts the time that this machine slept */
  tick(nowMs: number): void {
    if (this.#phase.kind !== "open") return;
    const { session, pongDueMs } = this.#phase;
    session.tick(nowMs);
    if (this.#hasLostAddress(session)) return this.#interrupt("this machine has another address");
    if (pongDueMs === undefined || nowMs < pongDueMs) return;
    this.#interrupt("no pong from the hub after this machine slept");
  }

  /** The machine slept: the connection may be dead without a socket error. */
  wake(nowMs: number): void {
    if (this.#phase.kind !== "open") return this.#end(retry("this machine slept"));
    const { wakePongMs, resumePongMs } = this.#options.timing;
    const { session, socket } = this.#phase;
    this.#phase.pongDueMs = nowMs + (session.resumeId === undefined ? wakePongMs : resumePongMs);
    socket.ping();
  }

  /** No longer the tunnel for new requests: it ends with its streams. @param onEnded - in place of the one so far */
  retire(onEnded: (interrupted: AgentSession | undefined) => void): void {
    this.#onEnded = (_verdict, interrupted) => onEnded(interrupted);
  }

  /** Another connection, for the session of this one alone. @param url - where it goes when it cannot be reached where it was */
  redial(
    session: AgentSession,
    url: URL,
    hooks: Pick<TunnelConnectionOptions, "onOpened" | "onEnded">,
  ): TunnelConnection {
    const from = { url, resumes: session, resumesAt: this.stop, resumesOnly: true };
    const unobserved = { reachMs: undefined, onReached() {}, onGoAway() {} };
    return new TunnelConnection({ ...this.#options, ...from, ...unobserved, ...hooks });
  }

  /** Ends running streams. `onEnded` is no longer called. */
  close(code: number, reason: string): void {
    if (this.#phase.kind === "ended") return;
    const session = this.#session;
    this.#phase = { kind: "ended" };
    this.#stopTimers();
    if (session !== undefined) session.close(code, reason);
    else this.#terminate();
  }

  #connect({ url, isPiped }: DialStop): void {
    const { token, env, mask, resumes, fence } = this.#options;
    this.#startTimers(url);
    const sessionId = resumes?.resumeId;
    try {
      const agent = dialAgentFor(url, env, pinText(url.hash), this.#dial.signal);
      const socket = new WebSocket(url.href.replace(/#.*$/, ""), TUNNEL_SUBPROTOCOL, {
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
      let below: Socket | undefined;
      socket.on("upgrade", (response) => {
        below = response.socket;
        this.#localAddress = below.localAddress;
      });
      socket.on("open", () => this.#onOpen(socket, below));
      socket.on("pong", () => {
        if (this.#phase.kind === "open") this.#phase.pongDueMs = undefined;
      });
      socket.on("error", (error) => {
        if (this.#phase.kind === "dialling" && this.#socket === socket)
          this.#fail({
            ...retry(`no tunnel to ${url.host}: ${problemOf(error)}`),
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
    const { timing, resumes, reachMs, world } = this.#options;
    const { isElsewhere } = this.#course;
    const dialMs = isElsewhere ? Math.min(timing.dialMs, timing.clusterDialMs) : timing.dialMs;
    this.#dialTimer = world.setTimeout(() => {
      // Dials for waiting streams have different limits; the same reason for all of them makes one notice.
      const limit = resumes === undefined ? `within ${dialMs / 1_000} s` : "yet";
      this.#fail(retry(`no tunnel to ${url.host} ${limit}`));
    }, dialMs);
    if (reachMs === undefined) return;
    this.#reachTimer = world.setTimeout(() => {
      this.#fail(retry(`${url.host} was not reached within ${reachMs / 1_000} s`));
    }, reachMs);
  }

  #finishRequest(request: ClientRequest): void {
    const reached = (): void => {
      this.#options.world.clearTimeout(this.#reachTimer);
      this.#options.onReached();
    };
    request.once("socket", (socket) => {
      // A proxy's socket comes when the proxy has reached the hub.
      if (socket.connecting) socket.once("connect", reached);
      else reached();
    });
    request.end();
  }

  #onOpen(socket: WebSocket, below: Socket | undefined): void {
    if (this.#phase.kind === "ended") return socket.terminate();
    const { maxStreams, bootId, resumes, resumesOnly, world } = this.#options;
    const { capabilities, status, onRequest, onFault } = this.#options;
    // In this turn, or the hub's first message is lost.
    const session = new AgentSession(wsTransport(socket, below), {
      requestWindowBytes: undefined,
      capabilities: capabilities(),
      pingIntervalMs: undefined,
      ...{ maxStreams, bootId, resumes, resumesOnly, world },
      handlers: {
        onHello: (hello) => this.#onHello(hello, undefined),
        onResume: (earlier, hello) => this.#onHello(hello, earlier),
        onInterrupted: () => this.#onInterrupted(),
        onRequest: (request) => onRequest(request, this.#epoch),
        onGoAway: () => this.#dismiss(),
        onClose: (code, reason) => this.#onClose(socket, code, reason),
        onError: onFault,
      },
    });
    const unknown = { pongDueMs: undefined, lossReason: undefined, staleReason: undefined };
    this.#phase = { kind: "open", socket, session, ...unknown, isDismissed: false };
    // Sent in one message with HELLO, so that no request arrives in between. A hub that resumes reads capabilities from
    // STATUS alone.
    const learned = resumes === undefined ? {} : { capabilities: capabilities() };
    session.sendStatus({ ...status(), ...learned });
    if (this.#goAwayReason !== undefined) session.goAway(this.#goAwayReason);
  }

  #onHello({ epoch }: Hello, resumed: AgentSession | undefined): void {
    if (this.#phase.kind !== "open") return;
    this.#epoch = epoch;
    if (resumed !== undefined) this.#phase.session = resumed;
    const { url } = this.#course.stop;
    const refusal = this.#options.fence.refusalOf(epoch);
    if (refusal !== undefined && resumed === undefined) {
      this.#phase.staleReason = `the hub at ${url.host} ${refusal}`;
      this.#phase.session.close(CLOSE_CODES.done, "another hub is the home of the room");
      return;
    }
    this.#stopTimers();
    this.#options.onOpened(resumed);
    if (refusal === undefined) return;
    // A session's streams end where they began; new requests come from the home alone.
    this.goAway("another hub is the home of the room");
    this.#dismiss();
  }

  #dismiss(): void {
    if (this.#phase.kind !== "open" || this.#phase.isDismissed) return;
    this.#phase.isDismissed = true;
    this.#options.onGoAway();
  }

  #onInterrupted(): void {
    if (this.#phase.kind !== "open") return;
    const { lossReason, session } = this.#phase;
    this.#end(retry(lossReason ?? "the connection to the hub was lost"), session);
  }

  #onClose(socket: WebSocket, code: number, reason: string): void {
    // A claim that was rejected once is rejected again. Locally, the same code means that the hub did not respond.
    const isByHub = socket.readyState === WebSocket.CLOSED;
    const { resumeRefused, protocolError } = CLOSE_CODES;
    if (code === resumeRefused || (code === protocolError && isByHub))
      this.#options.resumes?.close(CLOSE_CODES.done, "the hub refused to resume the session");
    if (this.#phase.kind !== "open") return;
    const { lossReason, staleReason } = this.#phase;
    if (staleReason !== undefined) return this.#end(stale(staleReason));
    this.#end(lossReason === undefined ? judgeClose(code, reason) : retry(lossReason));
  }

  /** Checked only where another connection can resume: an older hub would lose what runs. */
  #hasLostAddress({ resumeId, isInterrupted }: AgentSession): boolean {
    if (this.#localAddress === undefined || resumeId === undefined || isInterrupted) return false;
    return !hasAddress(networkInterfaces(), this.#localAddress);
  }

  #onRefused(socket: WebSocket, response: IncomingMessage): void {
    const { host } = this.#course.stop.url;
    // The dial timer limits the wait.
    void readStart(response).then((body) => {
      if (this.#phase.kind === "ended" || this.#socket !== socket) return;
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

  /** An address leads to no tunnel. The verdict of an address that a hub named counts only if the given one fails too. */
  #fail(verdict: Verdict): void {
    if (this.#phase.kind === "ended") return;
    const back = this.#phase.kind === "dialling" ? this.#course.goBack() : undefined;
    if (back === undefined) this.#end(verdict);
    else this.#reconnect(back);
  }

  #reconnect(stop: DialStop): void {
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.terminate();
    this.#connect(stop);
  }

  /** Gives the connection up: where the hub resumes, the streams wait for another one, else they end. */
  #interrupt(reason: string): void {
    if (this.#phase.kind !== "open") return;
    this.#phase.lossReason = reason;
    this.#phase.session.interrupt(reason);
  }

  #end(verdict: Verdict, interrupted?: AgentSession): void {
    if (this.#phase.kind === "ended") return;
    this.#phase = { kind: "ended" };
    this.#stopTimers();
    this.#terminate();
    this.#onEnded(verdict, interrupted);
  }

  #stopTimers(): void {
    const { world } = this.#options;
    world.clearTimeout(this.#dialTimer);
    world.clearTimeout(this.#reachTimer);
  }

  #terminate(): void {
    this.#socket?.terminate();
    // Also ends a connection to a proxy that has not responded to CONNECT: the WebSocket does not have it yet.
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

type Interfaces = ReturnType<typeof networkInterfaces>;

/**
 * Whether a connection that began at this address can still send. After a change of networks, no socket gets an error when its
 * address is gone: its packets disappear, and TCP repeats them for minutes.
 *
 * @param localAddress - as a socket has it
 */
export function hasAddress(interfaces: Interfaces, localAddress: string): boolean {
  // A socket for both families has IPv4 addresses in this form.
  const wanted = localAddress.replace(/^::ffff:(?=\d+\.)/i, "").replace(/%.*$/, "");
  return Object.values(interfaces).some((infos = []) =>
    infos.some(({ address }) => address === wanted),
  );
}

function problemOf(error: Error): string {
  const certificate = certificateProblem(error);
  return certificate === undefined ? error.message : `it ${certificate.problem}`;
}
