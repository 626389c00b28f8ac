import { systemWorld, type World } from "@roomhub/protocol";
import type { LogBudget } from "./resume/sent-log.ts";
import { OutgoingRequest, refuseStream } from "./streams/outgoing-request.ts";
import type {
  OutgoingRequestPort,
  RequestStream,
  ResponseHandler,
} from "./streams/outgoing-request.ts";
import type { Transport } from "./transport/transport.ts";
import { PING_INTERVAL_MS, TunnelLink } from "./tunnel-link.ts";
import { CLOSE_CODES, outOfPlace, ProtocolError } from "./wire/close-code.ts";
import { FRAME_TYPES, type FrameType } from "./wire/frame.ts";
import { asProtocolError, type Hello } from "./wire/hello.ts";
import { decodeResponse, encodeRequestHead, type RequestHead } from "./wire/message-head.ts";
import { HeadReader, HeadWriter } from "./wire/repeated-head.ts";
import { RESET_CODES, type ResetCode } from "./wire/reset-code.ts";
import { badResume, readOffer, type ResumeClaim, type ResumeOffer } from "./wire/resume.ts";
import { decodeStatus, type TunnelStatus } from "./wire/status.ts";

const RESET_CONFIRMATION_MS = 5_000;
const MAX_STREAM_ID = 0xffff_ffff;
const MAX_HEADS_PER_MESSAGE = 8;

/** What a requester makes of an agent's offer to resume. */
export type ResumeDecision =
  /** The tunnel begins a session, under this name. */
  | { kind: "new"; id: string; secret: string }
  /** The claim is right: this session is resumed. */
  | { kind: "resume"; session: RequesterSession }
  | { kind: "refuse"; code: number; reason: string }
  /** This side does not resume. */
  | { kind: "none" };

export interface RequesterSessionHandlers {
  /**
   * The agent's HELLO; `open()` works from now on. Called after its whole message is read.
   *
   * @param status - the STATUS in the same message, passed to `onStatus` next; ready if there is none
   */
  onHello(hello: Hello, status: TunnelStatus): void;
  /** Never ready after GOAWAY. */
  onStatus(status: TunnelStatus): void;
  /** A message, ping or pong was received. Called often; keep it cheap. */
  onLife(): void;
  /** The agent accepts no new streams. */
  onGoAway(reason: string): void;
  /** Called once, before `onReset` and `onClosed` of the lost streams. `CLOSE_CODES` or the code of the WebSocket. */
  onClose(code: number, reason: string): void;
  /** HELLO offers to resume. Absent: nothing is resumed. */
  decideResume?(offer: ResumeOffer): ResumeDecision;
  /** More than 4 MiB are unsent, and no request can begin; or less again. */
  onCongestion?(isCongested: boolean): void;
  /** The connection is lost: the streams wait for at most `resumeMs`. `onResume` or `onClose` follows. */
  onInterrupted?(streams: number): void;
  /** The connection is lost without a running stream. @returns whether the session waits to be resumed all the same */
  waitsIdle?(): boolean;
  /** An earlier session is resumed over this one's connection: no callback follows. */
  onGivenOver?(): void;
  /** The session is resumed over another connection; `onLife` and `onStatus` follow as before. */
  onResume?(streams: number): void;
  /** A callback of the owner threw: a bug to log. The session continues. */
  onError(error: unknown): void;
}

export interface RequesterSessionOptions {
  /** Maximum response bytes per stream in flight or unread: 64–256 KiB. */
  responseWindowBytes: number;
  /** Maximum concurrent streams, including those waiting for a confirmed RESET. The agent's limit also applies. */
  maxStreams: number;
  /** Default 10 s; the tunnel is dead after two missed pings. */
  pingIntervalMs: number | undefined;
  /** See {@link Hello.epoch}, at the moment of each HELLO. */
  epoch?: (() => number | undefined) | undefined;
  /** How long streams wait for another connection, 1–300,000; default 0: not at all. */
  resumeMs?: number | undefined;
  /** Of what all sessions keep in order to send it again; default: 8 MiB each, without a common limit. */
  logBudget?: LogBudget | undefined;
  handlers: RequesterSessionHandlers;
  /** Default: the system's. */
  world?: World | undefined;
}

/**
 * The side of a tunnel that sends requests. Owns the transport from construction until `onClose`. Reads no clock: the
 * owner calls `tick()` about once a second.
 */
export class RequesterSession {
  readonly #options: RequesterSessionOptions;
  readonly #world: World;
  readonly #link: TunnelLink<OutgoingRequest>;
  readonly #port: OutgoingRequestPort;
  /** Streams waiting for the agent to confirm a RESET, with the tick that first saw them. */
  readonly #resetting = new Map<OutgoingRequest, number | undefined>();
  /** of the tunnel that has this session; it grows with each */
  #generation = 1;
  /** The STATUS in the message with HELLO, while that message is read. */
  #greeting: { hello: Hello; status: TunnelStatus | undefined } | undefined;
  #goAwayReason: string | undefined;
  /**
   * false until an agent that resumes has sent something after HELLO: it may have given up before it read this end's, and
   * an agent that has read that resumes.
   */
  #isRead = true;

  constructor(transport: Transport, options: RequesterSessionOptions) {
    this.#options = options;
    const { handlers, logBudget, pingIntervalMs = PING_INTERVAL_MS, world = systemWorld } = options;
    this.#world = world;
    this.#link = new TunnelLink(
      transport,
      this.#hello,
      { world, greeting: "reply", pingIntervalMs, logBudget },
      {
        onHello: (hello) => {
          this.#greeting = { hello, status: undefined };
        },
        onFrame: (type, streamId, payload) => this.#onFrame(type, streamId, payload),
        onMessageEnd: () => this.#endGreeting(),
        onLife: (isReply) => {
          this.#isRead ||= isReply;
          handlers.onLife();
        },
        onGoAway: (reason) => this.#onGoAway(reason),
        onCongestion: (isCongested) => handlers.onCongestion?.(isCongested),
        onInterrupted: () => this.#onInterrupted(),
        onClose: (code, reason) => this.#onClose(code, reason),
        onError: (error) => handlers.onError(error),
      },
    );
    this.#port = {
      writer: this.#link.writer,
      requestHeads: new HeadWriter(encodeRequestHead),
      responseHeads: new HeadReader(decodeResponse),
      awaitConfirmation: (stream) => this.#resetting.set(stream, undefined),
      forget: (stream) => {
        this.#link.streams.delete(stream.id);
        this.#resetting.delete(stream);
      },
      onError: (error) => handlers.onError(error),
    };
  }

  get #hello(): Hello {
    const { maxStreams, responseWindowBytes: windowBytes, epoch } = this.#options;
    return { maxStreams, windowBytes, capabilities: {}, epoch: epoch?.() };
  }

  get isOpen(): boolean {
    return this.#link.isOpen;
  }

  /** The agent has sent HELLO and neither side GOAWAY. */
  get isReady(): boolean {
    const { isOpen, isInterrupted, isGoingAway, remoteHello } = this.#link;
    return isOpen && !isInterrupted && !isGoingAway && remoteHello !== undefined;
  }

  /** The connection is lost, and the session waits to be resumed over another one. */
  get isInterrupted(): boolean {
    return this.#link.isInterrupted;
  }

  /** Streams that hold a slot, including those waiting for a confirmed RESET. */
  get activeStreams(): number {
    return this.#link.streams.size;
  }

  /** The number of streams both sides allow; 0 before HELLO. */
  get maxStreams(): number {
    return Math.min(this.#options.maxStreams, this.#link.remoteHello?.maxStreams ?? 0);
  }

  /**
   * Sends one request. Never throws and never calls back before it returns: a request that cannot start ends with
   * `onReset` (`tunnelLost` when the tunnel is not ready, `overloaded` when it is full) and `onClosed`.
   *
   * @param body - all of it, or `"streamed"`: it follows through `writeBody`. The buffers must not change until
   * `isBodyTaken`. They are copied as credit allows.
   */
  open(
    head: RequestHead,
    body: readonly Buffer[] | "streamed",
    handler: ResponseHandler,
  ): RequestStream {
    const { remoteHello: hello, streams, writer } = this.#link;
    if (hello === undefined || !this.isReady) {
      return this.#refuse(handler, RESET_CODES.tunnelLost, "the tunnel accepts no new streams");
    }
    if (streams.size >= this.maxStreams) {
      return this.#refuse(handler, RESET_CODES.overloaded, `${this.maxStreams} streams are open`);
    }
    if (this.#link.isCongested) {
      return this.#refuse(handler, RESET_CODES.overloaded, "the agent reads too slowly");
    }
    if (streams.lastId === MAX_STREAM_ID) {
      this.goAway("stream ids are exhausted");
      return this.#refuse(handler, RESET_CODES.tunnelLost, "stream ids are exhausted");
    }
    const { responseWindowBytes } = this.#options;
    const id = streams.lastId + 1;
    const stream = new OutgoingRequest(
      id,
      this.#port,
      handler,
      hello.windowBytes,
      responseWindowBytes,
    );
    if (!stream.start(head, body)) {
      return this.#refuse(handler, RESET_CODES.internal, "the request head is over 16 KiB");
    }
    streams.lastId = id;
    streams.add(stream);
    // A lone request has nothing to wait for: the caller continues while the agent reads it. Of many in one turn, the agent
    // has the first ones while the others are still being parsed.
    const isLone = streams.size === 1 && stream.isBodyTaken;
    if (isLone || writer.unsentHeads >= MAX_HEADS_PER_MESSAGE) writer.flush();
    return stream;
  }

  /** Opens no new streams; running ones continue. */
  goAway(reason: string): void {
    this.#link.goAway(reason);
  }

  /** Ends every stream with `tunnelLost`, or `unread`, and closes the transport. Callbacks run before this returns. */
  close(code: number, reason: string): void {
    this.#link.close(code, reason);
  }

  /**
   * Sends pings, detects a dead connection, and closes streams whose RESET was not confirmed.
   *
   * @param nowMs - ms on a monotonic clock, the same for every call
   */
  tick(nowMs: number): void {
    this.#link.tick(nowMs, this.#options.resumeMs ?? 0);
    if (this.isInterrupted) return;
    for (const [stream, sinceMs] of this.#resetting) {
      if (sinceMs === undefined) this.#resetting.set(stream, nowMs);
      else if (nowMs - sinceMs >= RESET_CONFIRMATION_MS) stream.expire();
    }
  }

  #onFrame(type: FrameType, streamId: number, payload: Buffer): void {
    if (type === FRAME_TYPES.status) return this.#onStatus(decodeStatus(payload));
    if (type === FRAME_TYPES.request) throw outOfPlace(type, "from an agent");
    this.#link.streamOf(type, streamId)?.receiveResponse(payload);
  }

  #onStatus(reported: TunnelStatus): void {
    const reason = this.#goAwayReason;
    // An agent that is leaving may still report new capabilities.
    const status = reason === undefined ? reported : leaving(reported, reason);
    if (this.#greeting === undefined) {
      return this.#link.guard(() => this.#options.handlers.onStatus(status));
    }
    const earlier = this.#greeting.status?.capabilities;
    const capabilities =
      earlier === undefined ? status.capabilities : { ...earlier, ...status.capabilities };
    this.#greeting.status = { ...status, capabilities };
  }

  #onGoAway(reason: string): void {
    this.#goAwayReason = reason;
    if (this.#greeting === undefined) return this.#options.handlers.onGoAway(reason);
    this.#greeting.status = leaving(this.#greeting.status, reason);
  }

  #endGreeting(): void {
    const greeting = this.#greeting;
    if (greeting === undefined) return;
    this.#greeting = undefined;
    if (!this.isOpen) return;
    const { handlers } = this.#options;
    const { hello, status } = greeting;
    const resumed = this.#replyTo(hello);
    if (resumed !== undefined) {
      this.#link.guard(() => handlers.onGivenOver?.());
      return resumed.#onResumed(status);
    }
    if (!this.isOpen) return;
    this.#link.guard(() => handlers.onHello(hello, status ?? { ready: true }));
    if (status !== undefined) this.#link.guard(() => handlers.onStatus(status));
    const reason = this.#goAwayReason;
    if (reason !== undefined) this.#link.guard(() => handlers.onGoAway(reason));
  }

  /**
   * Replies to the agent's HELLO, or gives its connection to the session that it claims.
   *
   * @returns that session; undefined when the connection begins one of its own, or is closed
   * @throws {ProtocolError} 4002 for an offer that is malformed or contradicts the session
   */
  #replyTo(agent: Hello): RequesterSession | undefined {
    const { handlers, resumeMs = 0 } = this.#options;
    const mayResume = resumeMs > 0 && !this.#link.isGoingAway;
    const offer = mayResume ? offerIn(agent) : undefined;
    for (;;) {
      const decision = (offer && handlers.decideResume?.(offer)) ?? { kind: "none" };
      switch (decision.kind) {
        case "refuse":
          this.close(decision.code, decision.reason);
          return undefined;
        case "resume": {
          const { session } = decision;
          if (session.#resumeOver(this.#link, agent, offer?.claim)) return session;
          // Messages that the agent lacks are no longer kept: the tunnel begins a session.
          session.close(CLOSE_CODES.internal, "the session is too far behind");
          break;
        }
        case "new": {
          if (agent.resume?.only === true) return this.#refuseWithoutSession();
          const { id, secret } = decision;
          this.#isRead = false;
          const refusal = offer?.claim === undefined ? {} : { resumed: false };
          this.#link.greet({ ...this.#hello, resume: { id, secret, resumeMs, ...refusal } });
          this.#link.agreeToResume(true);
          return undefined;
        }
        case "none":
          if (agent.resume?.only === true) return this.#refuseWithoutSession();
          this.#link.greet(this.#hello);
          return undefined;
      }
    }
  }

  /** A session that begins here would replace the tunnel that the agent has. */
  #refuseWithoutSession(): undefined {
    this.close(CLOSE_CODES.resumeRefused, "the session is not here");
  }

  /**
   * Resumes over the connection of another session that has read its agent's HELLO.
   *
   * @returns false when messages that the agent lacks are no longer kept
   * @throws {ProtocolError} 4002 for counts or limits that contradict this session, 4001 for a tunnel that is not the newest
   */
  #resumeOver(
    link: TunnelLink<OutgoingRequest>,
    hello: Hello,
    claim: ResumeClaim | undefined,
  ): boolean {
    const first = this.#link.remoteHello;
    if (hello.maxStreams !== first?.maxStreams || hello.windowBytes !== first.windowBytes)
      throw badResume("the limits of the session are others");
    if (claim === undefined) return false;
    if (claim.generation <= this.#generation)
      throw new ProtocolError(CLOSE_CODES.replaced, "a newer tunnel has the session");
    if (!this.#link.canResume(claim)) return false;
    this.#generation = claim.generation;
    const resume = { id: claim.id, resumeMs: this.#options.resumeMs, resumed: true };
    this.#link.resume(link.releaseTransport(), claim, { ...this.#hello, resume });
    return true;
  }

  #onInterrupted(): boolean {
    const { handlers } = this.#options;
    const streams = this.activeStreams;
    if (streams === 0 && handlers.waitsIdle?.() !== true) return false;
    this.#link.guard(() => handlers.onInterrupted?.(streams));
    return true;
  }

  #onResumed(status: TunnelStatus | undefined): void {
    const { handlers } = this.#options;
    // The agent's claim has a secret of the HELLO that it read.
    this.#isRead = true;
    for (const stream of this.#resetting.keys()) this.#resetting.set(stream, undefined);
    this.#link.guard(() => handlers.onResume?.(this.activeStreams));
    if (status !== undefined) this.#link.guard(() => handlers.onStatus(status));
    for (const stream of this.#link.streams.values()) stream.resumed();
  }

  #onClose(code: number, reason: string): void {
    try {
      // The owner first, so that requests freed by a lost stream are not sent over this tunnel.
      this.#options.handlers.onClose(code, reason);
    } finally {
      const lost = this.#isRead ? RESET_CODES.tunnelLost : RESET_CODES.unread;
      this.#link.streams.lose(lost, `tunnel closed: ${code}${reason === "" ? "" : ` ${reason}`}`);
    }
  }

  #refuse(handler: ResponseHandler, code: ResetCode, reason: string): RequestStream {
    return refuseStream(handler, code, reason, this.#world, (error) => this.#port.onError(error));
  }
}

/** Not ready, in any readiness: requests do not wait for an agent that is leaving. */
function leaving(status: TunnelStatus | undefined, reason: string): TunnelStatus {
  return { ...status, ready: false, readiness: undefined, reason };
}

/** @throws {ProtocolError} 4002 */
function offerIn({ resume }: Hello): ResumeOffer | undefined {
  try {
    return resume && readOffer(resume);
  } catch (error) {
    throw asProtocolError("HELLO", error);
  }
}
