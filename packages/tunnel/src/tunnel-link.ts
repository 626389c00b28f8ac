import { CLOSE_CODES } from "./wire/close-code.ts";
import { boundedText, FRAME_TYPES, WIRE_LIMITS } from "./wire/frame.ts";
import type { FrameType } from "./wire/frame.ts";
import { decodeFrames } from "./wire/frame-decoder.ts";
import type { FrameReceiver } from "./wire/frame-decoder.ts";
import { FrameWriter } from "./wire/frame-writer.ts";
import { decodeHello, encodeHello } from "./wire/hello.ts";
import type { Hello } from "./wire/hello.ts";
import { outOfPlace, ProtocolError } from "./wire/protocol-error.ts";
import { Continuity } from "./resume/continuity.ts";
import type { LogBudget } from "./resume/log-budget.ts";
import type { ResumePoint } from "./wire/resume.ts";
import { PeerWatch } from "./peer-watch.ts";
import { Strays } from "./strays.ts";
import type { Transport, TransportListener } from "./transport/transport.ts";

export const PING_INTERVAL_MS = 10_000;
const HELLO_TIMEOUT_MS = 10_000;
/** RFC 6455 §7.1.5: the connection closed without a close frame. */
const BROKEN = 1006;

/** The session on top of a link. Its callbacks may throw; the link guards them. */
interface LinkOwner {
  onHello(hello: Hello): void;
  /** A frame other than HELLO, after HELLO. Throws `ProtocolError` to close the tunnel. */
  onFrame(type: FrameType, streamId: number, payload: Buffer): void;
  /** Every frame of a message was read; the tunnel may have closed meanwhile. */
  onMessageEnd(): void;
  /** The end of a turn: write held frames. */
  onFlush(): void;
  onLife(): void;
  onGoAway(reason: string): void;
  /** Body bytes that had to wait may be sent. */
  onRoom(): void;
  onCongestion(isCongested: boolean): void;
  /** The connection broke. @returns whether the session waits to be resumed; else `onClose` follows */
  onBreak(): boolean;
  /** Called once, last. */
  onClose(code: number, reason: string): void;
  /** A bug in a callback, not the peer's fault. */
  onError(error: unknown): void;
}

/** How the two sides of a tunnel differ in what they share. */
interface LinkRole {
  /**
   * The agent sends HELLO first and the hub replies, so that the hub's HELLO shows the agent that its own was received
   * and requests may follow.
   */
  greeting: "first" | "reply";
  pingIntervalMs: number;
  /** Of what this session and others keep to send it again; undefined for no common limit. */
  logBudget?: LogBudget | undefined;
}

/** After the connection broke: since when, in ms on the clock of the ticks, and why. */
interface Gap {
  sinceMs: number | undefined;
  code: number;
  reason: string;
}

/**
 * What both sides of a tunnel share: HELLO, liveness, closing, and going on over another transport. No input of the peer
 * makes the transport throw.
 *
 * ```
 * greeting ── HELLO ──► open ── broken, resumable ──► interrupted ── adopt() ──► open
 * greeting ── handOver(): another link goes on with its transport
 * ```
 */
export class TunnelLink implements TransportListener, FrameReceiver {
  readonly writer: FrameWriter;
  readonly #owner: LinkOwner;
  readonly #peer: PeerWatch;
  readonly #strays = new Strays();
  readonly #continuity: Continuity;
  readonly #isAgent: boolean;
  /** undefined while the session waits to be resumed */
  #transport: Transport | undefined;
  #hello: Hello;
  #hasGreeted = false;
  #remoteHello: Hello | undefined;
  #gap: Gap | undefined;
  #isOpen = true;
  #isLeaving = false;
  #isPeerLeaving = false;
  #firstTickMs: number | undefined;

  constructor(
    transport: Transport,
    hello: Hello,
    { greeting, pingIntervalMs, logBudget }: LinkRole,
    owner: LinkOwner,
  ) {
    this.#transport = transport;
    this.#hello = hello;
    this.#owner = owner;
    this.#isAgent = greeting === "first";
    this.#peer = new PeerWatch(pingIntervalMs);
    this.#continuity = new Continuity(transport, {
      budget: logBudget,
      onCongestion: (isCongested) => this.#guard(() => owner.onCongestion(isCongested)),
      onSlabReleased: (slab) => this.writer.reuse(slab),
    });
    this.writer = new FrameWriter(this.#continuity.outbox, () => this.#gather());
    transport.listen(this);
    // What an agent sends before the hub's HELLO counts too.
    if (hello.resume !== undefined) this.#continuity.outbox.keep();
    if (greeting === "first") this.greet();
  }

  /** Sends HELLO, once. @param hello - in place of the one so far */
  greet(hello: Hello = this.#hello): void {
    if (this.#hasGreeted) return;
    this.#hasGreeted = true;
    this.#hello = hello;
    if (hello.resume !== undefined) this.#continuity.outbox.keep();
    this.writer.text(FRAME_TYPES.hello, encodeHello(hello));
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** The connection broke, and the session waits for another one. */
  get isInterrupted(): boolean {
    return this.#gap !== undefined && this.#isOpen;
  }

  /** Undefined until the peer's HELLO is received. */
  get remoteHello(): Hello | undefined {
    return this.#remoteHello;
  }

  /** Either side has sent GOAWAY: running streams continue, no new ones start. */
  get isGoingAway(): boolean {
    return this.#isLeaving || this.#isPeerLeaving;
  }

  /** The peer reads too slowly for another request. */
  get isCongested(): boolean {
    return this.#continuity.outbox.isCongested;
  }

  /** Whether both sides resume is known with HELLO. */
  agreeToResume(isAgreed: boolean): void {
    this.#continuity.agree(isAgreed);
  }

  goAway(reason: string): void {
    if (!this.#isOpen || this.#isLeaving) return;
    this.#isLeaving = true;
    this.greet();
    this.writer.text(FRAME_TYPES.goAway, boundedText(reason, WIRE_LIMITS.reasonBytes));
  }

  /** Sends held frames, then closes. The owner's `onClose` runs before this returns. */
  close(code: number, reason: string): void {
    if (!this.#isOpen) return;
    this.writer.flush();
    this.#transport?.close(code, reason);
    this.#finish(code, reason);
  }

  /**
   * @param waitMs - how long an interrupted session waits to be resumed
   * @param pingIntervalMs - of this moment; as in the options when left out
   */
  tick(nowMs: number, waitMs: number, pingIntervalMs?: number): void {
    if (!this.#isOpen) return;
    if (this.#gap !== undefined) return this.#tickGap(this.#gap, nowMs, waitMs);
    this.#firstTickMs ??= nowMs;
    this.#strays.tick();
    this.writer.releaseWhenIdle();
    if (this.#remoteHello === undefined && nowMs - this.#firstTickMs >= HELLO_TIMEOUT_MS) {
      return this.close(CLOSE_CODES.protocolError, "no HELLO in time");
    }
    const verdict = this.#peer.tick(nowMs, this.#continuity, pingIntervalMs);
    if (verdict === "ping") this.#transport?.ping();
    if (verdict === "silent") return this.break(CLOSE_CODES.dead, "two pings without a pong");
    if (verdict === "unread") {
      this.#dropTransport();
      return this.#finish(CLOSE_CODES.dead, "the peer has read nothing for two pings");
    }
    this.onDrain();
  }

  onDrain(): void {
    this.#continuity.outbox.noteUnsent();
    if (!this.writer.isWaiting || this.#continuity.outbox.isFull) return;
    this.writer.isWaiting = false;
    this.#guard(() => this.#owner.onRoom());
  }

  /** The connection is of no use any more: the session waits to be resumed, or ends. */
  break(code: number, reason: string): void {
    if (!this.#isOpen || this.#gap !== undefined) return;
    this.#transport?.terminate();
    this.#onBroken(code, reason);
  }

  /** Where this side is, to be told to the peer. What an old connection still brings is not read after this. */
  get point(): ResumePoint {
    if (this.#gap === undefined) throw new Error("the session still has its connection");
    return this.#continuity.point;
  }

  /**
   * Whether the session can go on from where its peer is.
   *
   * @returns false when messages that the peer lacks are gone
   * @throws {ProtocolError} 4002 for counts that cannot be
   */
  canResume(peer: ResumePoint): boolean {
    // Frames of this turn are among what is sent again.
    this.writer.flush();
    return this.#isOpen && this.#continuity.canResume(peer);
  }

  /** Gives its transport away: no callback follows. */
  handOver(): Transport {
    const transport = this.#transport;
    if (transport === undefined) throw new Error("the connection is gone");
    this.#isOpen = false;
    this.#transport = undefined;
    this.#continuity.detach();
    return transport;
  }

  /**
   * Goes on over another transport: sends again what the peer lacks, then what came since.
   *
   * @param peer - for which {@link canResume} was true
   * @param reply - HELLO, where this side has not sent it
   */
  adopt(transport: Transport, peer: ResumePoint, reply: Hello | undefined): void {
    this.#dropTransport();
    this.#gap = undefined;
    this.#transport = transport;
    this.#peer.begin();
    this.writer.isInterrupted = false;
    this.#continuity.attach(transport, peer, reply);
    transport.listen(this);
  }

  /** A frame of a finished stream: ignored, unless it is a flood. */
  countLateFrame(): void {
    // Its stream may have ended in the gap.
    if (!this.#continuity.isReadingResent) this.#strays.countLateFrame();
  }

  /** A stream refused because the agent is at capacity. */
  countRefusal(): void {
    this.#strays.countRefusal();
  }

  onMessage(message: Buffer): void {
    if (!this.#isOpen) return;
    this.#noteLife();
    const isGreeting = this.#remoteHello === undefined;
    try {
      decodeFrames(message, this);
      if (this.#isOpen && !isGreeting) this.#continuity.noteReceived(message);
      this.#owner.onMessageEnd();
      if (this.writer.isWaiting) this.onDrain();
    } catch (error) {
      this.#fail(error);
    }
  }

  onLife(): void {
    if (this.#isOpen) this.#noteLife();
  }

  onClose(code: number, reason: string): void {
    if (!this.#isOpen || this.#gap !== undefined) return;
    if (code === BROKEN) this.#onBroken(code, reason);
    else this.#finish(code, reason);
  }

  onFrame(type: FrameType, streamId: number, payload: Buffer): void {
    // An earlier frame of the same message may have closed the tunnel.
    if (!this.#isOpen) return;
    if (this.#remoteHello === undefined) return this.#acceptHello(type, payload);
    if (type === FRAME_TYPES.hello) throw outOfPlace(type, "sent twice");
    if (type === FRAME_TYPES.ack) return this.#acceptAck(payload);
    if (type !== FRAME_TYPES.goAway) return this.#owner.onFrame(type, streamId, payload);
    if (this.#isPeerLeaving) return;
    this.#isPeerLeaving = true;
    this.#guard(() => this.#owner.onGoAway(payload.toString("utf8")));
  }

  #acceptHello(type: FrameType, payload: Buffer): void {
    if (type !== FRAME_TYPES.hello) throw outOfPlace(type, "before HELLO");
    const hello = decodeHello(payload);
    this.#remoteHello = hello;
    // Not guarded: what it makes of the offer to resume may be a fault of the peer.
    this.#owner.onHello(hello);
  }

  #acceptAck(payload: Buffer): void {
    if (!this.#continuity.acknowledge(payload.readUInt32BE(0)))
      throw outOfPlace(FRAME_TYPES.ack, "without an offer to resume");
  }

  #gather(): void {
    this.#owner.onFlush();
    if (this.#transport === undefined || !this.writer.hasFrames) return;
    const count = this.#continuity.takeDueCount();
    if (count !== undefined) this.writer.ack(count);
  }

  #tickGap(gap: Gap, nowMs: number, waitMs: number): void {
    gap.sinceMs ??= nowMs;
    if (nowMs - gap.sinceMs >= waitMs) this.#finish(gap.code, gap.reason);
  }

  #onBroken(code: number, reason: string): void {
    this.#dropTransport();
    // A hub that stops, or gave the room away, still has the streams; of an agent that leaves, nothing comes back.
    const isAgentLeaving = this.#isAgent ? this.#isLeaving : this.#isPeerLeaving;
    const canWait = this.#continuity.mayResume && !isAgentLeaving;
    if (!canWait) return this.#finish(code, reason);
    this.#gap = { sinceMs: undefined, code, reason };
    this.writer.isInterrupted = true;
    let waits = false;
    this.#guard(() => (waits = this.#owner.onBreak()));
    if (!waits) this.#finish(code, reason);
  }

  #dropTransport(): void {
    const transport = this.#transport;
    this.#transport = undefined;
    this.#continuity.detach();
    transport?.listen(DEAF);
    transport?.terminate();
  }

  #noteLife(): void {
    this.#peer.heard();
    try {
      this.#owner.onLife();
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
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#continuity.end();
    this.#guard(() => this.#owner.onClose(code, reason));
  }

  #guard(callback: () => void): void {
    try {
      callback();
    } catch (error) {
      this.#owner.onError(error);
    }
  }
}

/** What an abandoned transport still brings counts for nothing. */
const DEAF: TransportListener = { onMessage() {}, onLife() {}, onClose() {} };
