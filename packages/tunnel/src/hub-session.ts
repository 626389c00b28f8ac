import { CLOSE_CODES } from "./wire/close-code.ts";
import { FRAME_RULES, FRAME_TYPES } from "./wire/frame.ts";
import type { FrameType } from "./wire/frame.ts";
import type { Hello } from "./wire/hello.ts";
import { HubStream } from "./streams/hub-stream.ts";
import type { HubStreamPort, RequestStream, ResponseHandler } from "./streams/hub-stream.ts";
import { decodeResponse, encodeRequestHead } from "./wire/message-head.ts";
import type { RequestHead } from "./wire/message-head.ts";
import { outOfPlace, ProtocolError } from "./wire/protocol-error.ts";
import { refuseStream } from "./streams/refused-stream.ts";
import { HeadReader, HeadWriter } from "./wire/repeated-head.ts";
import { RESET_CODES, resetCodeFromWire } from "./wire/reset-code.ts";
import type { ResetCode } from "./wire/reset-code.ts";
import { decodeStatus } from "./wire/status.ts";
import type { TunnelStatus } from "./wire/status.ts";
import type { LogBudget } from "./resume/log-budget.ts";
import { sendInTurns } from "./streams/turns.ts";
import { StreamTable } from "./streams/stream-table.ts";
import type { Transport } from "./transport/transport.ts";
import { PING_INTERVAL_MS, TunnelLink } from "./tunnel-link.ts";
import { replyToHello } from "./resume/hub-reply.ts";
import type { ResumeDecision } from "./resume/hub-reply.ts";
import { badResume } from "./wire/resume.ts";
import type { ResumeClaim, ResumeOffer } from "./wire/resume.ts";

const RESET_CONFIRMATION_MS = 5_000;
const MAX_STREAM_ID = 0xffff_ffff;

export interface HubSessionHandlers {
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
  decideResume?(offer: ResumeOffer): ResumeDecision<HubSession>;
  /** More than 4 MiB are unsent, and no request can begin; or less again. */
  onCongestion?(isCongested: boolean): void;
  /** The connection broke: the streams wait for at most `resumeMs`. `onResume` or `onClose` follows. */
  onSuspend?(streams: number): void;
  /** The connection broke without a stream. @returns whether another one is waited for all the same */
  waitsIdle?(): boolean;
  /** Another connection took the place of the one before; `onLife` and `onStatus` follow as ever. */
  onResume?(streams: number): void;
  /** A callback of the owner threw: a bug to log. The session continues. */
  onError(error: unknown): void;
}

export interface HubSessionOptions {
  /** Maximum response bytes per stream in flight or unread: 64–256 KiB. */
  responseWindowBytes: number;
  /** Maximum concurrent streams, including those waiting for a confirmed RESET. The agent's limit also applies. */
  maxStreams: number;
  /** Default 10 s; the tunnel is dead after two missed pings. */
  pingIntervalMs: number | undefined;
  /** Which home of the room it is, at the moment of each HELLO; absent where rooms have no homes. */
  homeEpoch?: (() => number | undefined) | undefined;
  /** How long streams wait for another connection, 1–300,000; default 0: not at all. */
  resumeMs?: number | undefined;
  /** Of what all sessions keep in order to send it again; default: 8 MiB each, without a common limit. */
  logBudget?: LogBudget | undefined;
  handlers: HubSessionHandlers;
}

/**
 * The side of a tunnel that sends requests. Owns the transport from construction until `onClose`. Has no timer and reads
 * no clock: the owner calls `tick()` about once a second.
 */
export class HubSession {
  readonly #options: HubSessionOptions;
  readonly #link: TunnelLink;
  readonly #port: HubStreamPort;
  readonly #streams = new StreamTable<HubStream>();
  /** Streams waiting for the agent to confirm a RESET, with the tick that first saw them. */
  readonly #resetting = new Map<HubStream, number | undefined>();
  #lastStreamId = 0;
  /** the stream whose body was sent last, of those that had to wait */
  #lastTurnId = 0;
  /** of the tunnel that has this session; it grows with each */
  #generation = 1;
  /** The STATUS in the message with HELLO, while that message is read. */
  #greeting: { hello: Hello; status: TunnelStatus | undefined } | undefined;
  #goAwayReason: string | undefined;

  constructor(transport: Transport, options: HubSessionOptions) {
    this.#options = options;
    const { handlers } = options;
    this.#link = new TunnelLink(
      transport,
      this.#hello,
      {
        greeting: "reply",
        pingIntervalMs: options.pingIntervalMs ?? PING_INTERVAL_MS,
        logBudget: options.logBudget,
      },
      {
        onHello: (hello) => {
          this.#greeting = { hello, status: undefined };
        },
        onFrame: (type, streamId, payload) => this.#onFrame(type, streamId, payload),
        onMessageEnd: () => this.#endGreeting(),
        onFlush: () => {},
        onLife: () => handlers.onLife(),
        onGoAway: (reason) => this.#onGoAway(reason),
        onRoom: () => this.#sendInTurns(),
        onCongestion: (isCongested) => handlers.onCongestion?.(isCongested),
        onBreak: () => this.#onBreak(),
        onClose: (code, reason) => this.#onClose(code, reason),
        onError: (error) => handlers.onError(error),
      },
    );
    this.#port = {
      writer: this.#link.writer,
      requestHeads: new HeadWriter(encodeRequestHead),
      responseHeads: new HeadReader(decodeResponse),
      awaitConfirmation: (stream) => this.#resetting.set(stream, undefined),
      forget: (stream) => this.#forget(stream),
      onError: (error) => handlers.onError(error),
    };
  }

  get #hello(): Hello {
    const { maxStreams, responseWindowBytes: windowBytes, homeEpoch } = this.#options;
    return { maxStreams, windowBytes, capabilities: {}, homeEpoch: homeEpoch?.() };
  }

  get isOpen(): boolean {
    return this.#link.isOpen;
  }

  /** The agent has sent HELLO and neither side GOAWAY. */
  get isReady(): boolean {
    const { isOpen, isInterrupted, isGoingAway, remoteHello } = this.#link;
    return isOpen && !isInterrupted && !isGoingAway && remoteHello !== undefined;
  }

  /** The connection broke, and the streams wait for another one. */
  get isSuspended(): boolean {
    return this.#link.isInterrupted;
  }

  /** Streams that hold a slot, including those waiting for a confirmed RESET. */
  get activeStreams(): number {
    return this.#streams.size;
  }

  /** The number of streams both sides allow; 0 before HELLO. */
  get maxStreams(): number {
    return Math.min(this.#options.maxStreams, this.#link.remoteHello?.maxStreams ?? 0);
  }

  /**
   * Sends one request. Never throws and never calls back before it returns: a request that cannot start ends with
   * `onReset` (`tunnelLost` when the tunnel is not ready, `overloaded` when it is full) and `onClosed`.
   *
   * @param body - all of it; the buffers must not change until `isBodyTaken`. They are copied as credit allows.
   */
  open(head: RequestHead, body: readonly Buffer[], handler: ResponseHandler): RequestStream {
    const hello = this.#link.remoteHello;
    if (hello === undefined || !this.isReady) {
      return this.#refuse(handler, RESET_CODES.tunnelLost, "the tunnel accepts no new streams");
    }
    if (this.#streams.size >= this.maxStreams) {
      return this.#refuse(handler, RESET_CODES.overloaded, `${this.maxStreams} streams are open`);
    }
    if (this.#link.isCongested) {
      return this.#refuse(handler, RESET_CODES.overloaded, "the agent reads too slowly");
    }
    if (this.#lastStreamId === MAX_STREAM_ID) {
      this.goAway("stream ids are exhausted");
      return this.#refuse(handler, RESET_CODES.tunnelLost, "stream ids are exhausted");
    }
    const { responseWindowBytes } = this.#options;
    const id = this.#lastStreamId + 1;
    const stream = new HubStream(id, this.#port, handler, hello.windowBytes, responseWindowBytes);
    if (!stream.start(head, body)) {
      return this.#refuse(handler, RESET_CODES.internal, "the request head is over 16 KiB");
    }
    this.#lastStreamId = id;
    this.#streams.add(stream);
    // A lone request has nothing to wait for: the caller continues while the agent reads it.
    if (this.#streams.size === 1 && stream.isBodyTaken) this.#link.writer.flush();
    return stream;
  }

  /** Opens no new streams; running ones continue. */
  goAway(reason: string): void {
    this.#link.goAway(reason);
  }

  /** Ends every stream with `tunnelLost` and closes the transport. Callbacks run before this returns. */
  close(code: number, reason: string): void {
    this.#link.close(code, reason);
  }

  /**
   * Goes on over the connection of another session that has read its agent's HELLO.
   *
   * @returns false when messages that the agent lacks are gone
   * @throws {ProtocolError} 4002 for counts or limits that contradict this session, 4001 for a tunnel that is not the newest
   */
  takeOver(link: TunnelLink, hello: Hello, claim: ResumeClaim | undefined): boolean {
    const first = this.#link.remoteHello;
    if (hello.maxStreams !== first?.maxStreams || hello.windowBytes !== first.windowBytes)
      throw badResume("the limits of the session are others");
    if (claim === undefined) return false;
    if (claim.generation <= this.#generation)
      throw new ProtocolError(CLOSE_CODES.replaced, "a newer tunnel has the session");
    if (!this.#link.canResume(claim)) return false;
    this.#generation = claim.generation;
    const resume = { id: claim.id, resumeMs: this.#options.resumeMs, resumed: true };
    this.#link.adopt(link.handOver(), claim, { ...this.#hello, resume });
    return true;
  }

  /**
   * Sends pings, detects a dead peer, and closes streams whose RESET was not confirmed.
   *
   * @param nowMs - ms on a monotonic clock, the same for every call
   */
  tick(nowMs: number): void {
    this.#link.tick(nowMs, this.#options.resumeMs ?? 0);
    if (this.isSuspended) return;
    for (const [stream, sinceMs] of this.#resetting) {
      if (sinceMs === undefined) this.#resetting.set(stream, nowMs);
      else if (nowMs - sinceMs >= RESET_CONFIRMATION_MS) stream.expire();
    }
  }

  #sendInTurns(): void {
    this.#lastTurnId = sendInTurns(this.#streams.values(), this.#lastTurnId, this.#link.writer);
  }

  #onFrame(type: FrameType, streamId: number, payload: Buffer): void {
    if (type === FRAME_TYPES.status) {
      return this.#onStatus(decodeStatus(payload));
    }
    if (type === FRAME_TYPES.request) throw outOfPlace(type, "from an agent");
    const stream = this.#streams.get(streamId);
    if (stream === undefined) return this.#onStrayFrame(type, streamId);
    switch (type) {
      case FRAME_TYPES.response:
        return stream.receiveResponse(payload);
      case FRAME_TYPES.data:
        return stream.receiveData(payload);
      case FRAME_TYPES.end:
        return stream.receiveEnd();
      case FRAME_TYPES.window:
        return stream.receiveWindow(payload.readUInt32BE(0));
      case FRAME_TYPES.reset:
        return stream.receiveReset(
          resetCodeFromWire(payload.readUInt8(0)),
          payload.toString("utf8", 1),
        );
      case FRAME_TYPES.hello:
      case FRAME_TYPES.goAway:
      case FRAME_TYPES.ack:
        throw outOfPlace(type, "on a stream");
    }
  }

  #onStrayFrame(type: FrameType, streamId: number): void {
    if (streamId <= this.#lastStreamId) return this.#link.countLateFrame();
    throw new ProtocolError(
      CLOSE_CODES.unknownStream,
      `${FRAME_RULES[type].name} for stream ${streamId}`,
    );
  }

  #onStatus(reported: TunnelStatus): void {
    const reason = this.#goAwayReason;
    // An agent that is leaving may still report new capabilities.
    const status = reason === undefined ? reported : leaving(reported, reason);
    if (this.#greeting === undefined) {
      return this.#guard(() => this.#options.handlers.onStatus(status));
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
    const { resumeMs = 0 } = this.#options;
    const decide = handlers.decideResume?.bind(handlers);
    const resumed = replyToHello(this.#link, hello, { hello: this.#hello, resumeMs, decide });
    if (resumed !== undefined) return resumed.#proceed(status);
    if (!this.isOpen) return;
    this.#guard(() => handlers.onHello(hello, status ?? { ready: true }));
    if (status !== undefined) this.#guard(() => handlers.onStatus(status));
    const reason = this.#goAwayReason;
    if (reason !== undefined) this.#guard(() => handlers.onGoAway(reason));
  }

  #onBreak(): boolean {
    const { size } = this.#streams;
    const { handlers } = this.#options;
    if (size === 0 && handlers.waitsIdle?.() !== true) return false;
    this.#guard(() => handlers.onSuspend?.(size));
    return true;
  }

  #proceed(status: TunnelStatus | undefined): void {
    const { handlers } = this.#options;
    for (const stream of this.#resetting.keys()) this.#resetting.set(stream, undefined);
    this.#guard(() => handlers.onResume?.(this.#streams.size));
    if (status !== undefined) this.#guard(() => handlers.onStatus(status));
    for (const stream of this.#streams.values()) stream.resumed();
  }

  #guard(callback: () => void): void {
    try {
      callback();
    } catch (error) {
      this.#options.handlers.onError(error);
    }
  }

  #onClose(code: number, reason: string): void {
    const why = `tunnel closed: ${code}${reason === "" ? "" : ` ${reason}`}`;
    try {
      // The owner first, so that requests freed by a lost stream are not sent over this tunnel.
      this.#options.handlers.onClose(code, reason);
    } finally {
      for (const stream of this.#streams.values()) stream.lose(why);
    }
  }

  #forget(stream: HubStream): void {
    this.#streams.delete(stream.id);
    this.#resetting.delete(stream);
  }

  #refuse(handler: ResponseHandler, code: ResetCode, reason: string): RequestStream {
    return refuseStream(handler, code, reason, (error) => this.#port.onError(error));
  }
}

/** Not ready, in any readiness: requests do not wait for an agent that is leaving. */
function leaving(status: TunnelStatus | undefined, reason: string): TunnelStatus {
  return { ...status, ready: false, readiness: undefined, reason };
}
