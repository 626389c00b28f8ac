import { CLOSE_CODES } from "./wire/close-code.ts";
import { boundedText, FRAME_RULES, FRAME_TYPES, WIRE_LIMITS } from "./wire/frame.ts";
import type { FrameType } from "./wire/frame.ts";
import { decodeFrames } from "./wire/frame-decoder.ts";
import type { FrameReceiver } from "./wire/frame-decoder.ts";
import { FrameWriter } from "./wire/frame-writer.ts";
import { asProtocolError, decodeHello, encodeHello } from "./wire/hello.ts";
import type { Hello } from "./wire/hello.ts";
import { KeepAlive } from "./keep-alive.ts";
import { parseObject } from "./wire/json-payload.ts";
import { ProtocolError } from "./wire/protocol-error.ts";
import type { Transport, TransportListener } from "./transport/transport.ts";

export const PING_INTERVAL_MS = 10_000;
const HELLO_TIMEOUT_MS = 10_000;
/** A correct peer sends at most what was in flight when its stream ended; 10,000 in a second is abuse. */
const MAX_STRAYS_PER_TICK = 10_000;

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
  /** Not called on a tunnel. */
  onNotice(notice: Record<string, unknown>): void;
  /** Called once, last. */
  onClose(code: number, reason: string): void;
  /** A bug in a callback, not the peer's fault. */
  onError(error: unknown): void;
}

/** Unsent bytes from which a notice is dropped: the peer has stopped reading, and notices have no flow control. */
const MAX_BUFFERED_BYTES = 1024 * 1024;

/** How the two sides of a tunnel differ in what they share. */
interface LinkRole {
  /**
   * The agent sends HELLO first and the hub replies, so that the hub's HELLO shows the agent that its own was received
   * and requests may follow.
   */
  greeting: "first" | "reply";
  pingIntervalMs: number;
  /** Between hubs: ADMITTED and NOTICE are frames. */
  isLink: boolean;
}

/** What both sides of a tunnel share: HELLO, liveness and closing. No input of the peer makes the transport throw. */
export class TunnelLink implements TransportListener, FrameReceiver {
  readonly writer: FrameWriter;
  readonly #transport: Transport;
  readonly #owner: LinkOwner;
  readonly #keepAlive: KeepAlive;
  readonly #hello: Hello;
  readonly #isLink: boolean;
  #hasGreeted = false;
  #remoteHello: Hello | undefined;
  #isOpen = true;
  #isLeaving = false;
  #isPeerLeaving = false;
  #firstTickMs: number | undefined;
  #lateFrames = 0;
  #refusals = 0;

  constructor(
    transport: Transport,
    hello: Hello,
    { greeting, pingIntervalMs, isLink }: LinkRole,
    owner: LinkOwner,
  ) {
    this.#transport = transport;
    this.#hello = hello;
    this.#owner = owner;
    this.#isLink = isLink;
    this.#keepAlive = new KeepAlive(pingIntervalMs);
    this.writer = new FrameWriter(transport, () => owner.onFlush());
    transport.listen(this);
    if (greeting === "first") this.#greet();
  }

  #greet(): void {
    if (this.#hasGreeted) return;
    this.#hasGreeted = true;
    this.writer.text(FRAME_TYPES.hello, encodeHello(this.#hello));
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Undefined until the peer's HELLO is received. */
  get remoteHello(): Hello | undefined {
    return this.#remoteHello;
  }

  /** Either side has sent GOAWAY: running streams continue, no new ones start. */
  get isGoingAway(): boolean {
    return this.#isLeaving || this.#isPeerLeaving;
  }

  goAway(reason: string): void {
    if (!this.#isOpen || this.#isLeaving) return;
    this.#isLeaving = true;
    this.#greet();
    this.writer.text(FRAME_TYPES.goAway, boundedText(reason, WIRE_LIMITS.reasonBytes));
  }

  /** @returns false when it was dropped: before HELLO, after the end, or while the peer does not read */
  notify(notice: unknown): boolean {
    if (!this.#isOpen || this.#remoteHello === undefined) return false;
    if (this.#transport.bufferedBytes > MAX_BUFFERED_BYTES) return false;
    const text = JSON.stringify(notice);
    if (Buffer.byteLength(text) > WIRE_LIMITS.noticeBytes) return false;
    this.writer.text(FRAME_TYPES.notice, text);
    return true;
  }

  /** Sends held frames, then closes. The owner's `onClose` runs before this returns. */
  close(code: number, reason: string): void {
    if (!this.#isOpen) return;
    this.writer.flush();
    this.#transport.close(code, reason);
    this.#finish(code, reason);
  }

  tick(nowMs: number): void {
    if (!this.#isOpen) return;
    this.#firstTickMs ??= nowMs;
    this.#lateFrames = 0;
    this.#refusals = 0;
    this.writer.releaseWhenIdle();
    if (this.#remoteHello === undefined && nowMs - this.#firstTickMs >= HELLO_TIMEOUT_MS) {
      return this.close(CLOSE_CODES.protocolError, "no HELLO in time");
    }
    const verdict = this.#keepAlive.tick(nowMs);
    if (verdict === "ping") this.#transport.ping();
    if (verdict !== "dead") return;
    this.#transport.terminate();
    this.#finish(CLOSE_CODES.dead, "two pings without a pong");
  }

  /** A frame of a finished stream: ignored, unless it is a flood. */
  countLateFrame(): void {
    this.#lateFrames += 1;
    if (this.#lateFrames <= MAX_STRAYS_PER_TICK) return;
    throw new ProtocolError(CLOSE_CODES.abuse, "flood of frames for finished streams");
  }

  /** A stream refused because the agent is at capacity. A hub that did not wait for a confirmed RESET may exceed the limit. */
  countRefusal(): void {
    this.#refusals += 1;
    if (this.#refusals <= MAX_STRAYS_PER_TICK) return;
    throw new ProtocolError(CLOSE_CODES.tooManyStreams, "flood of streams over the limit");
  }

  onMessage(message: Buffer): void {
    if (!this.#isOpen) return;
    this.#noteLife();
    try {
      decodeFrames(message, this, this.#isLink);
      this.#owner.onMessageEnd();
    } catch (error) {
      this.#fail(error);
    }
  }

  onLife(): void {
    if (this.#isOpen) this.#noteLife();
  }

  onClose(code: number, reason: string): void {
    this.#finish(code, reason);
  }

  onFrame(type: FrameType, streamId: number, payload: Buffer): void {
    // An earlier frame of the same message may have closed the tunnel.
    if (!this.#isOpen) return;
    if (this.#remoteHello === undefined) return this.#acceptHello(type, payload);
    if (type === FRAME_TYPES.hello) throw outOfPlace(type, "sent twice");
    if (type === FRAME_TYPES.notice) return this.#acceptNotice(payload);
    if (type !== FRAME_TYPES.goAway) return this.#owner.onFrame(type, streamId, payload);
    if (this.#isPeerLeaving) return;
    this.#isPeerLeaving = true;
    this.#guard(() => this.#owner.onGoAway(payload.toString("utf8")));
  }

  #acceptHello(type: FrameType, payload: Buffer): void {
    if (type !== FRAME_TYPES.hello) throw outOfPlace(type, "before HELLO");
    const hello = decodeHello(payload);
    this.#remoteHello = hello;
    this.#greet();
    this.#guard(() => this.#owner.onHello(hello));
  }

  #acceptNotice(payload: Buffer): void {
    const notice = parsePayload("NOTICE", payload);
    this.#guard(() => this.#owner.onNotice(notice));
  }

  #noteLife(): void {
    this.#keepAlive.heard();
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

/** @throws {ProtocolError} 4002 for what is not a JSON object */
export function parsePayload(frame: string, payload: Buffer): Record<string, unknown> {
  try {
    return parseObject(payload);
  } catch (error) {
    throw asProtocolError(frame, error);
  }
}

export function outOfPlace(type: FrameType, what: string): ProtocolError {
  return new ProtocolError(CLOSE_CODES.protocolError, `${FRAME_RULES[type].name} ${what}`);
}
