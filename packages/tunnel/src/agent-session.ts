import { systemWorld, type World } from "@roomhub/protocol";
import { LossWatch } from "./keep-alive.ts";
import { AgentStream } from "./streams/agent-stream.ts";
import type {
  AgentStreamPort,
  IncomingRequest,
  RequestBodyHandler,
} from "./streams/agent-stream.ts";
import type { Transport } from "./transport/transport.ts";
import { PING_INTERVAL_MS, TunnelLink } from "./tunnel-link.ts";
import { CLOSE_CODES, outOfPlace, ProtocolError } from "./wire/close-code.ts";
import { FRAME_TYPES, type FrameType, WIRE_LIMITS } from "./wire/frame.ts";
import { asProtocolError, type Hello } from "./wire/hello.ts";
import { decodeRequest, encodeResponseHead } from "./wire/message-head.ts";
import { HeadReader, HeadWriter } from "./wire/repeated-head.ts";
import { RESET_CODES } from "./wire/reset-code.ts";
import { badResume, readReply } from "./wire/resume.ts";
import type { ResumeFields, ResumePoint, ResumeReply } from "./wire/resume.ts";
import { encodeStatus, type TunnelStatus } from "./wire/status.ts";

const REQUEST_WINDOW_BYTES = 1024 * 1024;
/** The requester decides when a session is lost; an agent that gave up earlier would cancel what can still be resumed. */
const LONGER_THAN_HUB_MS = 5_000;

export interface AgentSessionHandlers {
  /** The requester's HELLO. The session that was to be resumed, if any, is lost. */
  onHello(hello: Hello): void;
  /** Instead of `onHello`: the requester resumes the earlier session, which has these handlers from now on. */
  onResume?(session: AgentSession, hello: Hello): void;
  /** The connection is lost: the streams wait for at most `resumeMs` of the session. */
  onInterrupted?(streams: number): void;
  /** Called once per stream, inside the tunnel's message event. May respond synchronously. */
  onRequest(request: IncomingRequest): RequestBodyHandler;
  /** The requester opens no new streams on this tunnel. */
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
  /** An interrupted session, or one whose connection may be dead, to resume over this transport. */
  resumes?: AgentSession | undefined;
  /** If that session is lost, the transport is closed with 4009: the agent has another tunnel. */
  resumesOnly?: boolean | undefined;
  handlers: AgentSessionHandlers;
  /** Default: the system's. */
  world?: World | undefined;
}

/**
 * Until the requester's HELLO says whether the earlier session is resumed, nothing is sent after this side's HELLO: neither
 * session could count it.
 */
interface Claimed {
  session: AgentSession;
  isHelloSent: boolean;
  /** the last one */
  status: TunnelStatus | undefined;
  reply?: ResumeReply | undefined;
}

/**
 * The side of a tunnel that responds. Owns the transport from construction until `onClose`. Reads no clock: the owner
 * calls `tick()` about once a second.
 */
export class AgentSession {
  readonly #options: AgentSessionOptions;
  #handlers: AgentSessionHandlers;
  readonly #requestWindowBytes: number;
  readonly #link: TunnelLink<AgentStream>;
  readonly #port: AgentStreamPort;
  readonly #requestHeads = new HeadReader(decodeRequest);
  #heldHeads: AgentStream[] = [];
  #goAwayReason: string | undefined;
  /** Names the session at the requester; undefined while, or because, it cannot be resumed. */
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
    const { bootId, resumesOnly: only, world = systemWorld } = options;
    const resume = bootId === undefined ? undefined : { bootId, ...claim, only };
    this.#link = new TunnelLink(
      transport,
      { maxStreams, windowBytes: this.#requestWindowBytes, capabilities, resume },
      { world, greeting: "first", pingIntervalMs },
      {
        onHello: (hello) => this.#onHello(hello),
        onFrame: (type, streamId, payload) => this.#onFrame(type, streamId, payload),
        onMessageEnd: () => this.#endGreeting(),
        onFlush: () => {
          if (this.#claimed !== undefined) this.#claimed.isHelloSent = true;
          this.#sendHeldHeads();
        },
        onGoAway: (reason) => this.#handlers.onGoAway(reason),
        onInterrupted: () => this.#onInterrupted(),
        onClose: (code, reason) => this.#onClose(code, reason),
        onError: (error) => this.#handlers.onError(error),
      },
    );
    this.#port = this.#createPort();
  }

  #createPort(): AgentStreamPort {
    const { writer, streams } = this.#link;
    return {
      writer,
      responseHeads: new HeadWriter(encodeResponseHead),
      holdHead: (stream) => {
        this.#heldHeads.push(stream);
        writer.schedule();
      },
      forget: (stream) => streams.delete(stream.id),
      ended: () => {
        // The work after the end of a lone response runs while the requester reads it.
        if (streams.size === 0) writer.flush();
      },
      onError: (error) => this.#handlers.onError(error),
    };
  }

  get isOpen(): boolean {
    return this.#link.isOpen;
  }

  /** Streams whose response is incomplete, including cancelled ones until they are confirmed. */
  get activeStreams(): number {
    return this.#link.streams.size;
  }

  /** Every response is complete, and the requester has acknowledged all of it, where it acknowledges. */
  get isDone(): boolean {
    return this.activeStreams === 0 && this.#link.isAcknowledged;
  }

  /** The connection is lost, and the streams wait for another one. */
  get isInterrupted(): boolean {
    return this.#link.isInterrupted;
  }

  /** How long the requester keeps the streams of an interrupted session; 0 when it does not. */
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
   * Sends pings and detects a dead connection.
   *
   * @param nowMs - ms on a monotonic clock, the same for every call
   */
  tick(nowMs: number): void {
    const wasInterrupted = this.isInterrupted;
    const canResumeStreams = this.activeStreams > 0 && this.#ticket !== undefined;
    const pingIntervalMs = canResumeStreams ? this.#lossWatch.pingIntervalMs : undefined;
    this.#link.tick(nowMs, this.resumeMs + LONGER_THAN_HUB_MS, pingIntervalMs);
    this.#lossWatch.tick(nowMs, this.isInterrupted && !wasInterrupted);
  }

  /** Gives the connection up: the streams wait for another one, or end. */
  interrupt(reason: string): void {
    this.#link.interrupt(CLOSE_CODES.dead, reason);
  }

  /** What a tunnel presents to resume this session; undefined when that is not possible. */
  claim(): ResumeFields | undefined {
    this.interrupt("another connection takes its place");
    const ticket = this.#ticket;
    if (ticket === undefined || !this.isInterrupted) return undefined;
    ticket.generation += 1;
    const { id, secret, generation } = ticket;
    return { id, secret, generation, ...this.#link.point };
  }

  /** `id` of the session at the requester; undefined when it cannot be resumed. */
  get resumeId(): string | undefined {
    return this.isOpen ? this.#ticket?.id : undefined;
  }

  #onHello(hello: Hello): void {
    const reply = replyOf(hello.resume);
    if (reply?.kind === "resumed") {
      if (this.#claimed === undefined) throw badResume("nothing was claimed");
      this.#claimed.reply = reply;
      return;
    }
    const canResume = this.#options.bootId !== undefined && reply !== undefined;
    this.#link.agreeToResume(canResume);
    if (canResume) this.#ticket = { ...reply, generation: 1 };
    this.#beginAnew();
    this.#link.guard(() => this.#handlers.onHello(hello));
  }

  /** The requester does not have the earlier session. */
  #beginAnew(): void {
    const claimed = this.#claimed;
    if (claimed === undefined) return;
    this.#claimed = undefined;
    claimed.session.close(CLOSE_CODES.done, "the hub did not resume the session");
    if (claimed.status !== undefined) this.sendStatus(claimed.status);
    if (this.#goAwayReason !== undefined) this.#link.goAway(this.#goAwayReason);
  }

  /** If the requester resumes the earlier session, that gets this connection. */
  #endGreeting(): void {
    const claimed = this.#claimed;
    if (claimed?.reply?.kind !== "resumed") return;
    this.#claimed = undefined;
    claimed.session.#resume(this, claimed.reply, claimed.status);
  }

  #resume(candidate: AgentSession, point: ResumePoint, status: TunnelStatus | undefined): void {
    if (!this.#link.canResume(point)) {
      this.close(CLOSE_CODES.internal, "the hub is too far behind");
      throw badResume("messages are gone");
    }
    this.#handlers = candidate.#handlers;
    this.#lossWatch.resumed();
    this.#link.resume(candidate.#link.releaseTransport(), point, undefined);
    // A STATUS that was sent again may be older.
    if (status !== undefined) this.sendStatus(status);
    if (candidate.#goAwayReason !== undefined) this.goAway(candidate.#goAwayReason);
    const hello = candidate.#link.remoteHello;
    if (hello !== undefined) this.#link.guard(() => this.#handlers.onResume?.(this, hello));
    for (const stream of this.#link.streams.values()) stream.sendMore();
  }

  #onInterrupted(): boolean {
    if (this.#ticket === undefined) return false;
    this.#handlers.onInterrupted?.(this.activeStreams);
    return true;
  }

  #onFrame(type: FrameType, streamId: number, payload: Buffer): void {
    if (type !== FRAME_TYPES.request) throw outOfPlace(type, "from a hub");
    const { streams, remoteHello, writer } = this.#link;
    if (streamId <= streams.lastId) {
      throw new ProtocolError(CLOSE_CODES.unknownStream, `stream id ${streamId} used again`);
    }
    streams.lastId = streamId;
    const request = this.#decodeRequest(payload);
    const refusal = this.#refusal();
    if (refusal !== undefined) {
      streams.countRefusal();
      return writer.reset(streamId, RESET_CODES.overloaded, refusal);
    }
    const responseWindowBytes = remoteHello?.windowBytes ?? 0;
    const stream = new AgentStream(
      streamId,
      this.#port,
      this.#requestWindowBytes,
      responseWindowBytes,
    );
    streams.add(stream);
    const handlers = this.#handlers;
    stream.start(request.head, request.body, request.end, (request) => handlers.onRequest(request));
  }

  #decodeRequest(payload: Buffer) {
    try {
      return this.#requestHeads.read(payload, WIRE_LIMITS.headBytes);
    } catch (error) {
      throw asProtocolError("REQUEST", error);
    }
  }

  #refusal(): string | undefined {
    if (this.#goAwayReason !== undefined) return "the agent is leaving";
    if (this.activeStreams < this.#options.maxStreams) return undefined;
    return `${this.activeStreams} streams are open`;
  }

  #sendHeldHeads(): void {
    if (this.#heldHeads.length === 0) return;
    const held = this.#heldHeads;
    this.#heldHeads = [];
    for (const stream of held) stream.sendHead();
  }

  #onClose(code: number, reason: string): void {
    this.#link.streams.lose(
      RESET_CODES.tunnelLost,
      `tunnel closed: ${code}${reason === "" ? "" : ` ${reason}`}`,
    );
    this.#handlers.onClose(code, reason);
  }
}

/** @throws {ProtocolError} 4002 */
function replyOf(fields: ResumeFields | undefined): ResumeReply | undefined {
  try {
    return fields && readReply(fields);
  } catch (error) {
    throw asProtocolError("HELLO", error);
  }
}
