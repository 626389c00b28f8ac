import type { World } from "@roomhub/protocol";
import { EndWatch } from "./keep-alive.ts";
import { Messages } from "./resume/messages.ts";
import type { LogBudget } from "./resume/sent-log.ts";
import { Streams, type TunnelStream } from "./streams/streams.ts";
import type { Transport, TransportListener } from "./transport/transport.ts";
import { CLOSE_CODES, outOfPlace, ProtocolError } from "./wire/close-code.ts";
import { boundedText, FRAME_TYPES, type FrameType, WIRE_LIMITS } from "./wire/frame.ts";
import { decodeFrames, type FrameReceiver } from "./wire/frame-decoder.ts";
import { FrameWriter } from "./wire/frame-writer.ts";
import { decodeHello, encodeHello, type Hello } from "./wire/hello.ts";
import type { ResumePoint } from "./wire/resume.ts";

export const PING_INTERVAL_MS = 10_000;
const HELLO_TIMEOUT_MS = 10_000;
/** RFC 6455 §7.1.5: the connection closed without a close frame. */
const NO_CLOSE_FRAME = 1006;

/** The session on top of a link, at either end. Its callbacks may throw; the link guards them. */
interface LinkOwner {
  /** Throws `ProtocolError` to close the tunnel. */
  onHello(hello: Hello): void;
  /** STATUS, REQUEST or RESPONSE. Throws `ProtocolError` to close the tunnel. */
  onFrame(type: FrameType, streamId: number, payload: Buffer): void;
  /** Every frame of a message was read; the tunnel may have closed meanwhile. */
  onMessageEnd(): void;
  /** The end of a turn: write held frames. */
  onFlush?(): void;
  /** @param isReply - a pong, or a message after HELLO */
  onLife?(isReply: boolean): void;
  onGoAway(reason: string): void;
  onCongestion?(isCongested: boolean): void;
  /** The connection is lost. @returns whether the session waits to be resumed; else `onClose` follows */
  onInterrupted(): boolean;
  /** Called once, last. */
  onClose(code: number, reason: string): void;
  /** A callback threw: a bug on this side. */
  onError(error: unknown): void;
}

/** How the two ends of a tunnel differ in what they share. */
interface LinkRole {
  world: World;
  /**
   * The agent sends HELLO first and the requester replies, so that the requester's HELLO shows the agent that its own was received
   * and requests may follow.
   */
  greeting: "first" | "reply";
  pingIntervalMs: number;
  /** Of what this session and others keep to send it again; undefined for no common limit. */
  logBudget?: LogBudget | undefined;
}

type LinkState =
  | { kind: "connected"; transport: Transport }
  /** `sinceMs`: on the clock of the ticks, from the first one on. `code` and `reason`: why the connection was lost */
  | { kind: "interrupted"; sinceMs: number | undefined; code: number; reason: string }
  | { kind: "closed" };

/**
 * What both ends of a tunnel share: HELLO, liveness, streams, closing, and resuming over another transport. Nothing that
 * the other end sends makes the transport throw.
 *
 * ```
 * connected ── connection lost, resumable ──► interrupted ── resume() ──► connected
 * connected, interrupted ── close(), not resumed in time ──► closed
 * connected ── releaseTransport(): another link resumes over its transport ──► closed
 * ```
 */
export class TunnelLink<Stream extends TunnelStream> implements TransportListener, FrameReceiver {
  readonly writer: FrameWriter;
  readonly streams = new Streams<Stream>();
  readonly #owner: LinkOwner;
  readonly #watch: EndWatch;
  readonly #messages: Messages;
  readonly #isAgent: boolean;
  #state: LinkState;
  #hello: Hello;
  #hasSentHello = false;
  #remoteHello: Hello | undefined;
  #isLeaving = false;
  #isOtherLeaving = false;
  #firstTickMs: number | undefined;

  constructor(
    transport: Transport,
    hello: Hello,
    { world, greeting, pingIntervalMs, logBudget }: LinkRole,
    owner: LinkOwner,
  ) {
    this.#state = { kind: "connected", transport };
    this.#hello = hello;
    this.#owner = owner;
    this.#isAgent = greeting === "first";
    this.#watch = new EndWatch(pingIntervalMs, this.#isAgent);
    this.#messages = new Messages(transport, {
      world,
      budget: logBudget,
      onCongestion: (isCongested) => this.guard(() => owner.onCongestion?.(isCongested)),
      onSlabReleased: (slab) => this.writer.reuse(slab),
    });
    this.writer = new FrameWriter(this.#messages, () => this.#gather(), world);
    transport.listen(this);
    // What an agent sends before the requester's HELLO counts too.
    if (hello.resume !== undefined) this.#messages.keep();
    if (greeting === "first") this.greet();
  }

  /** Sends HELLO, once. @param hello - in place of the one so far */
  greet(hello: Hello = this.#hello): void {
    if (this.#hasSentHello) return;
    this.#hasSentHello = true;
    this.#hello = hello;
    if (hello.resume !== undefined) this.#messages.keep();
    this.writer.text(FRAME_TYPES.hello, encodeHello(hello));
  }

  get isOpen(): boolean {
    return this.#state.kind !== "closed";
  }

  /** The connection is lost, and the session waits to be resumed over another one. */
  get isInterrupted(): boolean {
    return this.#state.kind === "interrupted";
  }

  /** Undefined until the HELLO of the other end is received. */
  get remoteHello(): Hello | undefined {
    return this.#remoteHello;
  }

  /** Either end has sent GOAWAY: running streams continue, no new ones start. */
  get isGoingAway(): boolean {
    return this.#isLeaving || this.#isOtherLeaving;
  }

  /** The other end reads too slowly for another request. */
  get isCongested(): boolean {
    return this.#messages.isCongested;
  }

  /** The other end has acknowledged what this end sent; also where it acknowledges nothing. */
  get isAcknowledged(): boolean {
    return this.#messages.isAcknowledged;
  }

  /** Whether both ends resume is known with HELLO. */
  agreeToResume(isAgreed: boolean): void {
    this.#messages.agree(isAgreed);
  }

  goAway(reason: string): void {
    if (!this.isOpen || this.#isLeaving) return;
    this.#isLeaving = true;
    this.greet();
    this.writer.text(FRAME_TYPES.goAway, boundedText(reason, WIRE_LIMITS.reasonBytes));
  }

  /** Sends held frames, then closes. The owner's `onClose` runs before this returns. */
  close(code: number, reason: string): void {
    if (!this.isOpen) return;
    this.writer.flush();
    if (this.#state.kind === "connected") this.#state.transport.close(code, reason);
    this.#finish(code, reason);
  }

  /**
   * @param waitMs - how long an interrupted session waits to be resumed
   * @param pingIntervalMs - for this call; as in the options when left out
   */
  tick(nowMs: number, waitMs: number, pingIntervalMs?: number): void {
    const state = this.#state;
    switch (state.kind) {
      case "connected":
        return this.#tickConnected(state.transport, nowMs, pingIntervalMs);
      case "interrupted":
        state.sinceMs ??= nowMs;
        if (nowMs - state.sinceMs >= waitMs) this.#finish(state.code, state.reason);
        return;
      case "closed":
        return;
    }
  }

  #tickConnected(transport: Transport, nowMs: number, pingIntervalMs: number | undefined): void {
    this.#firstTickMs ??= nowMs;
    this.streams.tick();
    this.writer.releaseWhenIdle();
    if (this.#remoteHello === undefined) {
      if (nowMs - this.#firstTickMs >= HELLO_TIMEOUT_MS)
        this.close(CLOSE_CODES.protocolError, "no HELLO in time");
      return;
    }
    switch (this.#watch.tick(nowMs, this.#messages, pingIntervalMs)) {
      case "silent":
        return this.interrupt(CLOSE_CODES.dead, "two pings without a pong");
      case "unread":
        this.#dropTransport();
        return this.#finish(CLOSE_CODES.dead, "the peer has read nothing for two pings");
      case "ping":
        transport.ping();
        return this.onDrain();
      case "wait":
        if (this.#messages.isCongested || this.writer.isWaiting) this.onDrain();
    }
  }

  onDrain(): void {
    this.#messages.noteUnsent();
    if (!this.writer.isWaiting || this.#messages.isFull) return;
    this.writer.isWaiting = false;
    this.guard(() => this.streams.sendInTurns(this.writer));
  }

  /** Gives the connection up: the session waits to be resumed, or ends. */
  interrupt(code: number, reason: string): void {
    if (this.#state.kind !== "connected") return;
    this.#dropTransport();
    // A requester that stops still has the streams; an agent that leaves does not come back.
    const isAgentLeaving = this.#isAgent ? this.#isLeaving : this.#isOtherLeaving;
    if (!this.#messages.mayResume || isAgentLeaving) return this.#finish(code, reason);
    this.#state = { kind: "interrupted", sinceMs: undefined, code, reason };
    this.writer.isInterrupted = true;
    let waits = false;
    this.guard(() => (waits = this.#owner.onInterrupted()));
    if (!waits) this.#finish(code, reason);
  }

  /** How far this end is, for the other end. What an old connection still delivers is not read after this. */
  get point(): ResumePoint {
    if (this.#state.kind === "connected") throw new Error("the session still has its connection");
    return this.#messages.point;
  }

  /**
   * Whether the session can be resumed from where the other end is.
   *
   * @returns false when messages that the other end lacks are no longer kept
   * @throws {ProtocolError} 4002 for counts that cannot be
   */
  canResume(other: ResumePoint): boolean {
    // Frames of this turn are among what is sent again.
    this.writer.flush();
    return this.isOpen && this.#messages.canResume(other);
  }

  /** For another link, which resumes over it. No callback follows. */
  releaseTransport(): Transport {
    if (this.#state.kind !== "connected") throw new Error("the connection is lost");
    const { transport } = this.#state;
    this.#state = { kind: "closed" };
    this.#messages.interrupt();
    return transport;
  }

  /**
   * Resumes over another transport: sends again what the other end lacks, then what was written since.
   *
   * @param other - for which {@link canResume} was true
   * @param reply - HELLO, where this end has not sent it
   */
  resume(transport: Transport, other: ResumePoint, reply: Hello | undefined): void {
    this.#dropTransport();
    this.#state = { kind: "connected", transport };
    this.#watch.begin();
    this.writer.isInterrupted = false;
    this.#messages.resume(transport, other, reply);
    transport.listen(this);
  }

  /** The stream that a RESPONSE is for; undefined for one that has ended. */
  streamOf(type: FrameType, streamId: number): Stream | undefined {
    return this.streams.find(type, streamId, this.#messages.isReadingResent);
  }

  onMessage(message: Buffer): void {
    if (!this.isOpen) return;
    const isGreeting = this.#remoteHello === undefined;
    this.#noteLife(!isGreeting);
    try {
      decodeFrames(message, this);
      if (this.isOpen && !isGreeting) this.#messages.noteReceived(message);
      this.#owner.onMessageEnd();
      if (this.writer.isWaiting) this.onDrain();
    } catch (error) {
      this.#fail(error);
    }
  }

  onLife(isPong: boolean): void {
    if (this.isOpen) this.#noteLife(isPong);
  }

  onClose(code: number, reason: string): void {
    if (this.#state.kind !== "connected") return;
    if (code === NO_CLOSE_FRAME) this.interrupt(code, reason);
    else this.#finish(code, reason);
  }

  onFrame(type: FrameType, streamId: number, payload: Buffer): void {
    // An earlier frame of the same message may have closed the tunnel.
    if (!this.isOpen) return;
    if (this.#remoteHello === undefined) return this.#acceptHello(type, payload);
    switch (type) {
      case FRAME_TYPES.hello:
        throw outOfPlace(type, "sent twice");
      case FRAME_TYPES.ack:
        if (this.#messages.acknowledge(payload.readUInt32BE(0))) return;
        throw outOfPlace(type, "without an offer to resume");
      case FRAME_TYPES.goAway:
        return this.#acceptGoAway(payload.toString("utf8"));
      case FRAME_TYPES.status:
      case FRAME_TYPES.request:
      case FRAME_TYPES.response:
        return this.#owner.onFrame(type, streamId, payload);
      default:
        return this.streams.receive(type, streamId, payload, this.#messages.isReadingResent);
    }
  }

  #acceptHello(type: FrameType, payload: Buffer): void {
    if (type !== FRAME_TYPES.hello) throw outOfPlace(type, "before HELLO");
    const hello = decodeHello(payload);
    this.#remoteHello = hello;
    // Not guarded: an offer to resume may be the other end's fault.
    this.#owner.onHello(hello);
  }

  #acceptGoAway(reason: string): void {
    if (this.#isOtherLeaving) return;
    this.#isOtherLeaving = true;
    this.guard(() => this.#owner.onGoAway(reason));
  }

  #gather(): void {
    this.#owner.onFlush?.();
    if (this.#state.kind !== "connected" || !this.writer.hasFrames) return;
    const count = this.#messages.takeDueCount();
    if (count !== undefined) this.writer.ack(count);
  }

  #dropTransport(): void {
    const state = this.#state;
    this.#messages.interrupt();
    if (state.kind !== "connected") return;
    state.transport.listen(DEAF);
    state.transport.terminate();
  }

  #noteLife(isReply: boolean): void {
    this.#watch.heard();
    try {
      this.#owner.onLife?.(isReply);
    } catch (error) {
      this.#owner.onError(error);
    }
  }

  #fail(error: unknown): void {
    if (error instanceof ProtocolError) return this.close(error.closeCode, error.message);
    this.#owner.onError(error);
    this.close(CLOSE_CODES.internal, "internal error");
  }

  #finish(code: number, reason: string): void {
    if (!this.isOpen) return;
    this.#state = { kind: "closed" };
    this.#messages.end();
    this.guard(() => this.#owner.onClose(code, reason));
  }

  /** Calls the owner; what it throws is a bug there, and the session continues. */
  guard(callback: () => void): void {
    try {
      callback();
    } catch (error) {
      this.#owner.onError(error);
    }
  }
}

/** What an abandoned transport still delivers is ignored. */
const DEAF: TransportListener = { onMessage() {}, onLife() {}, onClose() {} };
