import { AgentStream } from "./streams/agent-stream.ts";
import type {
  AgentStreamPort,
  IncomingRequest,
  RequestBodyHandler,
} from "./streams/agent-stream.ts";
import { CLOSE_CODES } from "./wire/close-code.ts";
import { FRAME_RULES, FRAME_TYPES, WIRE_LIMITS } from "./wire/frame.ts";
import type { FrameType } from "./wire/frame.ts";
import { asProtocolError } from "./wire/hello.ts";
import type { Hello } from "./wire/hello.ts";
import { decodeRequest, encodeResponseHead } from "./wire/message-head.ts";
import type { HeadedPayload, RequestHead } from "./wire/message-head.ts";
import { outOfPlace, ProtocolError } from "./wire/protocol-error.ts";
import { HeadReader, HeadWriter } from "./wire/repeated-head.ts";
import { RESET_CODES, resetCodeFromWire } from "./wire/reset-code.ts";
import { encodeStatus } from "./wire/status.ts";
import type { TunnelStatus } from "./wire/status.ts";
import { sendInTurns } from "./streams/turns.ts";
import { StreamTable } from "./streams/stream-table.ts";
import type { Transport } from "./transport/transport.ts";
import { badResume, readReply } from "./wire/resume.ts";
import type { ResumeFields, ResumePoint, ResumeReply } from "./wire/resume.ts";
import { LossWatch } from "./resume/loss-watch.ts";
import { PING_INTERVAL_MS, TunnelLink } from "./tunnel-link.ts";

const REQUEST_WINDOW_BYTES = 1024 * 1024;
/** The hub decides when a session is over; an agent that gave up before it would cancel what can go on. */
const LONGER_THAN_HUB_MS = 5_000;

export interface AgentSessionHandlers {
  /** The hub's HELLO. Of the session that it was to resume nothing is left. */
  onHello(hello: Hello): void;
  /** Instead of `onHello`: the hub goes on with the earlier session. That one has these handlers from now on. */
  onResume?(session: AgentSession, hello: Hello): void;
  /** The connection broke: the streams wait for at most `resumeMs` of the session. */
  onSuspend?(streams: number): void;
  /** Called once per stream, inside the tunnel's message event. May respond synchronously. */
  onRequest(request: IncomingRequest): RequestBodyHandler;
  /** The hub opens no new streams on this tunnel. */
  onGoAway(reason: string): void;
  /** Called once, after `onReset` of every stream. `CLOSE_CODES` or the code of the WebSocket. */
  onClose(code: number, reason: string): void;
  /** A callback of the owner threw: a bug to log. The session continues. */
  onError(error: unknown): void;
}

export interface AgentSessionOptions {
  /** Concurrent streams accepted. */
  maxStreams: number;
  /** Maximum request-body bytes per stream in flight or unread; default 1 MiB. */
  requestWindowBytes: number | undefined;
  capabilities: Record<string, string>;
  /** Default 10 s; the tunnel is dead after two missed pings. */
  pingIntervalMs: number | undefined;
  /** Names this run of the agent, 1–128 characters. Absent: the agent does not resume. */
  bootId?: string | undefined;
  /** A suspended session, or one whose connection may be dead, that is to go on over this transport. */
  resumes?: AgentSession | undefined;
  /** Without that session the transport is closed, with 4009: the agent has another tunnel. */
  resumesOnly?: boolean | undefined;
  handlers: AgentSessionHandlers;
}

/** While the hub has not said whether the earlier session goes on: what is sent after HELLO could be counted by neither. */
interface Claimed {
  session: AgentSession;
  isHelloSent: boolean;
  /** the last one */
  status: TunnelStatus | undefined;
  reply?: ResumeReply | undefined;
}

/**
 * The side of a tunnel that responds. Owns the transport from construction until `onClose`. Has no timer and reads no
 * clock: the owner calls `tick()` about once a second.
 */
export class AgentSession {
  readonly #options: AgentSessionOptions;
  #handlers: AgentSessionHandlers;
  readonly #requestWindowBytes: number;
  readonly #link: TunnelLink;
  readonly #port: AgentStreamPort;
  readonly #streams = new StreamTable<AgentStream>();
  readonly #requestHeads = new HeadReader(decodeRequest);
  #heldHeads: AgentStream[] = [];
  #lastStreamId = 0;
  /** the stream whose response was sent last, of those that had to wait */
  #lastTurnId = 0;
  #goAwayReason: string | undefined;
  /** Its name at the hub; undefined while, or because, it cannot be resumed. */
  #ticket: { id: string; secret: string; resumeMs: number; generation: number } | undefined;
  #claimed: Claimed | undefined;
  readonly #lossWatch: LossWatch;

  constructor(transport: Transport, options: AgentSessionOptions) {
    this.#options = options;
    this.#handlers = options.handlers;
    this.#requestWindowBytes = options.requestWindowBytes ?? REQUEST_WINDOW_BYTES;
    const { maxStreams, capabilities, resumes, pingIntervalMs = PING_INTERVAL_MS } = options;
    this.#lossWatch = new LossWatch(pingIntervalMs);
    const claim = resumes?.claim();
    if (resumes !== undefined && claim !== undefined)
      this.#claimed = { session: resumes, isHelloSent: false, status: undefined };
    const { bootId, resumesOnly: only } = options;
    const resume = bootId === undefined ? undefined : { bootId, ...claim, only };
    this.#link = new TunnelLink(
      transport,
      { maxStreams, windowBytes: this.#requestWindowBytes, capabilities, resume },
      { greeting: "first", pingIntervalMs },
      {
        onHello: (hello) => this.#onHello(hello),
        onFrame: (type, streamId, payload) => this.#onFrame(type, streamId, payload),
        onMessageEnd: () => this.#endGreeting(),
        onFlush: () => {
          if (this.#claimed !== undefined) this.#claimed.isHelloSent = true;
          this.#sendHeldHeads();
        },
        onLife: () => {},
        onGoAway: (reason) => this.#handlers.onGoAway(reason),
        onRoom: () => this.#sendInTurns(),
        onCongestion: () => {},
        onBreak: () => this.#onBreak(),
        onClose: (code, reason) => this.#onClose(code, reason),
        onError: (error) => this.#handlers.onError(error),
      },
    );
    this.#port = {
      writer: this.#link.writer,
      responseHeads: new HeadWriter(encodeResponseHead),
      holdHead: (stream) => {
        this.#heldHeads.push(stream);
        this.#link.writer.schedule();
      },
      forget: (stream) => {
        this.#streams.delete(stream.id);
      },
      ended: () => {
        // The work after the end of a lone response runs while the hub reads it.
        if (this.#streams.size === 0) this.#link.writer.flush();
      },
      onError: (error) => this.#handlers.onError(error),
    };
  }

  get isOpen(): boolean {
    return this.#link.isOpen;
  }

  /** Streams whose response is incomplete, including cancelled ones until they are confirmed. */
  get activeStreams(): number {
    return this.#streams.size;
  }

  /** The connection broke, and the streams wait for another one. */
  get isSuspended(): boolean {
    return this.#link.isInterrupted;
  }

  /** How long the hub keeps the streams of a session whose connection broke; 0 when it does not. */
  get resumeMs(): number {
    return this.#ticket?.resumeMs ?? 0;
  }

  /** In the turn of its construction it joins HELLO. */
  sendStatus(status: TunnelStatus): void {
    const claimed = this.#claimed;
    if (claimed !== undefined) claimed.status = status;
    if (this.isOpen && claimed?.isHelloSent !== true)
      this.#link.writer.text(FRAME_TYPES.status, encodeStatus(status));
  }

  /** Refuses new streams; running ones continue. */
  goAway(reason: string): void {
    this.#goAwayReason = reason;
    if (this.#claimed === undefined) this.#link.goAway(reason);
  }

  /** Ends every stream with `tunnelLost` and closes the transport. Callbacks run before this returns. */
  close(code: number, reason: string): void {
    this.#link.close(code, reason);
  }

  /**
   * Sends pings and detects a dead peer.
   *
   * @param nowMs - ms on a monotonic clock, the same for every call
   */
  tick(nowMs: number): void {
    const wasSuspended = this.isSuspended;
    const isAtStake = this.#streams.size > 0 && this.#ticket !== undefined;
    const pingIntervalMs = isAtStake ? this.#lossWatch.pingIntervalMs : undefined;
    this.#link.tick(nowMs, this.resumeMs + LONGER_THAN_HUB_MS, pingIntervalMs);
    this.#lossWatch.tick(nowMs, this.isSuspended && !wasSuspended);
  }

  /** The connection is of no use any more: its streams wait for another one, or end. */
  break(reason: string): void {
    this.#link.break(CLOSE_CODES.dead, reason);
  }

  /** What a tunnel presents that goes on with this session; undefined when that is not possible. */
  claim(): ResumeFields | undefined {
    this.break("another connection takes its place");
    const ticket = this.#ticket;
    if (ticket === undefined || !this.isSuspended) return undefined;
    ticket.generation += 1;
    const { id, secret, generation } = ticket;
    return { id, secret, generation, ...this.#link.point };
  }

  /** `id` of the session at the hub; undefined when it cannot be resumed. */
  get resumeId(): string | undefined {
    return this.isOpen ? this.#ticket?.id : undefined;
  }

  #onHello(hello: Hello): void {
    const reply = hello.resume === undefined ? undefined : replyOf(hello.resume);
    if (reply?.kind === "resumed") {
      if (this.#claimed === undefined) throw badResume("nothing was claimed");
      this.#claimed.reply = reply;
      return;
    }
    const canResume = this.#options.bootId !== undefined && reply !== undefined;
    this.#link.agreeToResume(canResume);
    if (canResume) this.#ticket = { ...reply, generation: 1 };
    this.#beginAnew();
    this.#guard(() => this.#handlers.onHello(hello));
  }

  /** The hub does not have the earlier session. */
  #beginAnew(): void {
    const claimed = this.#claimed;
    if (claimed === undefined) return;
    this.#claimed = undefined;
    claimed.session.close(CLOSE_CODES.done, "the hub did not resume the session");
    if (claimed.status !== undefined) this.sendStatus(claimed.status);
    if (this.#goAwayReason !== undefined) this.#link.goAway(this.#goAwayReason);
  }

  /** The hub goes on with the earlier session: it gets this connection. */
  #endGreeting(): void {
    const claimed = this.#claimed;
    if (claimed?.reply?.kind !== "resumed") return;
    this.#claimed = undefined;
    claimed.session.#goOn(this, claimed.reply, claimed.status);
  }

  #goOn(candidate: AgentSession, point: ResumePoint, status: TunnelStatus | undefined): void {
    if (!this.#link.canResume(point)) {
      this.close(CLOSE_CODES.internal, "the hub is too far behind");
      throw badResume("messages are gone");
    }
    this.#handlers = candidate.#handlers;
    this.#lossWatch.resumed();
    this.#link.adopt(candidate.#link.handOver(), point, undefined);
    // What was sent again may have an older one.
    if (status !== undefined) this.sendStatus(status);
    if (candidate.#goAwayReason !== undefined) this.goAway(candidate.#goAwayReason);
    const hello = candidate.#link.remoteHello;
    if (hello !== undefined) this.#guard(() => this.#handlers.onResume?.(this, hello));
    for (const stream of this.#streams.values()) stream.proceed();
  }

  #onBreak(): boolean {
    if (this.#ticket === undefined) return false;
    this.#handlers.onSuspend?.(this.#streams.size);
    return true;
  }

  #onFrame(type: FrameType, streamId: number, payload: Buffer): void {
    if (type === FRAME_TYPES.request) return this.#onRequest(streamId, payload);
    if (type === FRAME_TYPES.status || type === FRAME_TYPES.response) {
      throw outOfPlace(type, "from a hub");
    }
    const stream = this.#streams.get(streamId);
    if (stream === undefined) return this.#onStrayFrame(type, streamId);
    switch (type) {
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

  #onRequest(streamId: number, payload: Buffer): void {
    if (streamId <= this.#lastStreamId) {
      throw new ProtocolError(CLOSE_CODES.unknownStream, `stream id ${streamId} used again`);
    }
    this.#lastStreamId = streamId;
    const request = this.#decodeRequest(payload);
    const refusal = this.#refusal();
    if (refusal !== undefined) {
      this.#link.countRefusal();
      return this.#link.writer.reset(streamId, RESET_CODES.overloaded, refusal);
    }
    const responseWindowBytes = this.#link.remoteHello?.windowBytes ?? 0;
    const stream = new AgentStream(
      streamId,
      this.#port,
      this.#requestWindowBytes,
      responseWindowBytes,
    );
    this.#streams.add(stream);
    const handlers = this.#handlers;
    stream.start(request.head, request.body, request.end, (request) => handlers.onRequest(request));
  }

  #decodeRequest(payload: Buffer): HeadedPayload<RequestHead> {
    try {
      return this.#requestHeads.read(payload, WIRE_LIMITS.headBytes);
    } catch (error) {
      throw asProtocolError("REQUEST", error);
    }
  }

  #refusal(): string | undefined {
    if (this.#goAwayReason !== undefined) return "the agent is leaving";
    if (this.#streams.size < this.#options.maxStreams) return undefined;
    return `${this.#streams.size} streams are open`;
  }

  #onStrayFrame(type: FrameType, streamId: number): void {
    if (streamId <= this.#lastStreamId) return this.#link.countLateFrame();
    throw new ProtocolError(
      CLOSE_CODES.unknownStream,
      `${FRAME_RULES[type].name} for stream ${streamId}`,
    );
  }

  #sendInTurns(): void {
    this.#lastTurnId = sendInTurns(this.#streams.values(), this.#lastTurnId, this.#link.writer);
  }

  #sendHeldHeads(): void {
    if (this.#heldHeads.length === 0) return;
    const held = this.#heldHeads;
    this.#heldHeads = [];
    for (const stream of held) stream.sendHead();
  }

  #guard(callback: () => void): void {
    try {
      callback();
    } catch (error) {
      this.#handlers.onError(error);
    }
  }

  #onClose(code: number, reason: string): void {
    const why = `tunnel closed: ${code}${reason === "" ? "" : ` ${reason}`}`;
    for (const stream of this.#streams.values()) stream.lose(why);
    this.#handlers.onClose(code, reason);
  }
}

/** @throws {ProtocolError} 4002 */
function replyOf(fields: ResumeFields): ResumeReply {
  try {
    return readReply(fields);
  } catch (error) {
    throw asProtocolError("HELLO", error);
  }
}
