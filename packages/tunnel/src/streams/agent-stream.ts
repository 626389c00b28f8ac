import { ReceiveWindow, SendCredit } from "./credit.ts";
import { FRAME_TYPES, WIRE_LIMITS } from "../wire/frame.ts";
import type { FrameWriter } from "../wire/frame-writer.ts";
import type { RequestHead, ResponseHead } from "../wire/message-head.ts";
import { OutgoingBody } from "./outgoing-body.ts";
import type { HeadWriter } from "../wire/repeated-head.ts";
import { RESET_CODES, type ResetCode } from "../wire/reset-code.ts";
import { outOfPlace } from "../wire/close-code.ts";
import type { TunnelStream } from "./streams.ts";

/** One request from the requester. */
export interface IncomingRequest {
  readonly head: RequestHead;
  /** The first bytes of the body, often all. Valid until `onRequest` returns: copy what you keep. */
  readonly body: Buffer;
  /** `body` is complete: neither `onBody` nor `onBodyEnd` follows. */
  readonly end: boolean;
  readonly responder: Responder;
}

/** Gets the rest of a request's body and stream events. Not called after `responder.end()` or `reset()`. */
export interface RequestBodyHandler {
  /**
   * @param chunk - valid until this returns: copy what you keep
   * @returns false to pause: these and later bytes count as unread until `resumeBody()`
   */
  onBody(chunk: Buffer): boolean;
  onBodyEnd(): void;
  /**
   * The requester cancelled, the tunnel closed (`tunnelLost`), or a callback of this handler threw (`internal`). Called at most
   * once. Close the provider's socket, then call `responder.end()`: the requester holds the stream's slot until then, for at
   * most 5 s.
   */
  onReset(code: ResetCode, reason: string): void;
  /** Credit is available again after `write()` returned false. */
  onDrain(): void;
}

/** Sends one response. After the stream has ended, every method is a no-op. */
export interface Responder {
  /** Held until the end of the turn, so that a small response is one frame. Throws when called twice. */
  head(head: ResponseHead): void;
  /**
   * The chunk is not copied immediately and must not change. Throws before `head()` and after `end()`.
   *
   * @returns false when the credit is used up. The bytes are queued; pause the provider until `onDrain`.
   */
  write(chunk: Buffer): boolean;
  /** Completes the body; after a cancel, confirms it. Queued bytes are still sent. */
  end(): void;
  /** Aborts and drops queued bytes; after a cancel, confirms it. Before `head()`, the requester may retry elsewhere. */
  reset(code: ResetCode, reason: string): void;
  /** Resumes after `onBody` returned false. */
  resumeBody(): void;
}

/** What a stream needs from its session. */
export interface AgentStreamPort {
  readonly writer: FrameWriter;
  readonly responseHeads: HeadWriter<ResponseHead>;
  /** Schedules `sendHead()` for the end of this turn. */
  holdHead(stream: AgentStream): void;
  forget(stream: AgentStream): void;
  /** A response was ended, sent completely or not. */
  ended(): void;
  onError(error: unknown): void;
}

/**
 * ```
 * open ── end() ──► ending ── last byte sent ──────────► closed
 * open, ending ── reset(), tunnel lost ────────────────► closed
 * open ── RESET from the requester ──► cancelled ── end(), reset() ──► closed
 * ending ── RESET from the requester (END is sent at once) ───► closed
 * ```
 */
export class AgentStream implements Responder, TunnelStream {
  readonly id: number;
  readonly #port: AgentStreamPort;
  readonly #body = new OutgoingBody();
  readonly #credit: SendCredit;
  readonly #window: ReceiveWindow;
  #handler: RequestBodyHandler | undefined;
  #phase: "open" | "ending" | "cancelled" | "closed" = "open";
  #heldHead: ResponseHead | undefined;
  #hasHead = false;
  #isBodyComplete = false;
  #wantsDrain = false;

  constructor(
    id: number,
    port: AgentStreamPort,
    requestWindowBytes: number,
    responseWindowBytes: number,
  ) {
    this.id = id;
    this.#port = port;
    this.#credit = new SendCredit(responseWindowBytes);
    this.#window = new ReceiveWindow(requestWindowBytes);
  }

  /** Passes the request to the handler. Called once. */
  start(
    head: RequestHead,
    body: Buffer,
    end: boolean,
    onRequest: (request: IncomingRequest) => RequestBodyHandler,
  ): void {
    this.#isBodyComplete = end;
    this.#window.receive(body.length);
    try {
      this.#handler = onRequest({ head, body, end, responder: this });
    } catch (error) {
      return this.#fail(error);
    }
    // The few bytes inside REQUEST count as read.
    this.#sendWindow(this.#window.settle(body.length, true));
  }

  head(head: ResponseHead): void {
    if (this.#phase !== "open") return;
    if (this.#hasHead) throw new Error("head() called twice");
    this.#hasHead = true;
    this.#heldHead = head;
    this.#port.holdHead(this);
  }

  write(chunk: Buffer): boolean {
    if (this.#phase === "ending") throw new Error("write() after end()");
    if (this.#phase !== "open") return false;
    if (!this.#hasHead) throw new Error("write() before head()");
    if (this.#isPlainSend(chunk)) {
      this.#port.writer.data(this.id, chunk);
      this.#credit.spend(chunk.length);
    } else {
      this.#body.push(chunk);
      if (this.#heldHead === undefined) this.#pump();
      else if (this.#body.bytes >= WIRE_LIMITS.responseRideBytes) this.sendHead();
    }
    this.#wantsDrain = this.#body.bytes >= this.#credit.availableBytes;
    return !this.#wantsDrain;
  }

  end(): void {
    if (this.#phase === "cancelled") return this.#confirm();
    if (this.#phase !== "open") return;
    if (!this.#hasHead) throw new Error("end() before head()");
    this.#phase = "ending";
    if (this.#heldHead === undefined) this.#pump();
    else this.sendHead();
    this.#port.ended();
  }

  reset(code: ResetCode, reason: string): void {
    if (this.#phase === "closed") return;
    this.#port.writer.reset(this.id, code, reason);
    this.#close();
  }

  resumeBody(): void {
    this.#sendWindow(this.#window.release());
  }

  /** Sends the held head with the queued part of the body. */
  sendHead(): void {
    const head = this.#heldHead;
    if (head === undefined || this.#port.writer.isHeld) return;
    this.#heldHead = undefined;
    const rideBytes = Math.min(
      this.#body.bytes,
      WIRE_LIMITS.responseRideBytes,
      this.#credit.availableBytes,
    );
    const end = this.#phase === "ending" && rideBytes === this.#body.bytes;
    const { writer, responseHeads } = this.#port;
    const bytes = responseHeads.write(head, end);
    if (bytes.length > WIRE_LIMITS.headBytes) {
      return this.#giveUp(RESET_CODES.providerInvalidResponse, "the response head is over 16 KiB");
    }
    this.#credit.spend(rideBytes);
    writer.head(FRAME_TYPES.response, this.id, bytes, this.#body, rideBytes);
    if (end) this.#close();
    else this.#pump();
  }

  receiveData(chunk: Buffer): void {
    if (this.#isBodyComplete) throw outOfPlace(FRAME_TYPES.data, "after END");
    if (this.#phase === "cancelled") return;
    this.#window.receive(chunk.length);
    // The response is complete without the rest of the request body: without credit, the requester stops sending.
    if (this.#phase === "ending") return;
    let isAccepted = true;
    try {
      isAccepted = this.#handler?.onBody(chunk) ?? true;
    } catch (error) {
      return this.#fail(error);
    }
    this.#sendWindow(this.#window.settle(chunk.length, isAccepted));
  }

  receiveEnd(): void {
    if (this.#isBodyComplete) throw outOfPlace(FRAME_TYPES.end, "twice");
    this.#isBodyComplete = true;
    if (this.#phase !== "open") return;
    try {
      this.#handler?.onBodyEnd();
    } catch (error) {
      this.#fail(error);
    }
  }

  receiveWindow(bytes: number): void {
    if (this.#phase === "cancelled") return;
    this.#credit.grant(bytes);
    if (this.#heldHead === undefined) this.#pump();
    this.#reportDrain();
  }

  #reportDrain(): void {
    if (this.#phase !== "open" || !this.#wantsDrain || this.#body.bytes > 0) return;
    this.#wantsDrain = false;
    try {
      this.#handler?.onDrain();
    } catch (error) {
      this.#fail(error);
    }
  }

  receiveReset(code: ResetCode, reason: string): void {
    if (this.#phase === "cancelled") return;
    const isProviderDone = this.#phase === "ending";
    this.#phase = "cancelled";
    this.#dropBody();
    if (isProviderDone) return this.#confirm();
    this.#reportReset(code, reason);
  }

  sendMore(maxFrames?: number): boolean {
    if (this.#heldHead === undefined) this.#pump(maxFrames);
    else this.sendHead();
    this.#reportDrain();
    return this.#body.bytes > 0 && this.#credit.availableBytes > 0;
  }

  lose(code: ResetCode, reason: string): void {
    const isProviderBusy = this.#phase === "open";
    this.#close();
    if (isProviderBusy) this.#reportReset(code, reason);
  }

  /** Nothing is queued before this chunk, it fits into one frame, and there is credit for it. */
  #isPlainSend(chunk: Buffer): boolean {
    return (
      this.#heldHead === undefined &&
      !this.#port.writer.isHeld &&
      this.#body.bytes === 0 &&
      chunk.length > 0 &&
      chunk.length <= WIRE_LIMITS.dataBytes &&
      chunk.length <= this.#credit.availableBytes
    );
  }

  #pump(maxFrames?: number): void {
    const { writer } = this.#port;
    const isSent = this.#body.pump(writer, this.id, this.#credit, maxFrames);
    if (!isSent || this.#phase !== "ending") return;
    writer.end(this.id);
    this.#close();
  }

  #sendWindow(credit: number): void {
    if (credit === 0 || this.#isBodyComplete) return;
    if (this.#phase === "open" || this.#phase === "ending") {
      this.#port.writer.window(this.id, credit);
    }
  }

  #confirm(): void {
    this.#port.writer.end(this.id);
    this.#close();
  }

  #fail(error: unknown): void {
    this.#port.onError(error);
    this.#giveUp(RESET_CODES.internal, "the request handler threw");
  }

  #giveUp(code: ResetCode, reason: string): void {
    const isProviderBusy = this.#phase === "open";
    this.reset(code, reason);
    if (isProviderBusy) this.#reportReset(code, reason);
  }

  #reportReset(code: ResetCode, reason: string): void {
    try {
      this.#handler?.onReset(code, reason);
    } catch (error) {
      this.#port.onError(error);
      // The handler cannot confirm any more. A no-op after the tunnel has closed.
      this.reset(RESET_CODES.internal, "the request handler threw");
    }
  }

  #dropBody(): void {
    this.#body.clear();
    this.#heldHead = undefined;
  }

  #close(): void {
    if (this.#phase === "closed") return;
    this.#phase = "closed";
    this.#dropBody();
    this.#port.forget(this);
  }
}
