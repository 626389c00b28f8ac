import type { World } from "@roomhub/protocol";
import { ReceiveWindow, SendCredit } from "./credit.ts";
import { FRAME_TYPES, WIRE_LIMITS } from "../wire/frame.ts";
import type { FrameWriter } from "../wire/frame-writer.ts";
import { MalformedPayload } from "../wire/json-payload.ts";
import type { HeadedPayload, RequestHead, ResponseHead } from "../wire/message-head.ts";
import { OutgoingBody } from "./outgoing-body.ts";
import type { HeadReader, HeadWriter } from "../wire/repeated-head.ts";
import { RESET_CODES, type ResetCode } from "../wire/reset-code.ts";
import { outOfPlace } from "../wire/close-code.ts";
import type { TunnelStream } from "./streams.ts";

/** Gets one response. Callbacks run inside the tunnel's message event and may call `RequestStream`. */
export interface ResponseHandler {
  /** Once, before any data. */
  onHead(head: ResponseHead): void;
  /**
   * @param chunk - a view into the tunnel's message; keeping it retains up to 1 MiB, so copy a small one
   * @returns false to pause: these and later bytes count as unread until `resume()`. At most one window follows.
   */
  onData(chunk: Buffer): boolean;
  /** The body is complete. */
  onEnd(): void;
  /** The tunnel was interrupted and is resumed: the rest of the response follows. */
  onResumed?(): void;
  /** All of the request's body so far is sent, after `writeBody()` returned false. */
  onBodyDrain?(): void;
  /**
   * The agent aborted, its response was malformed, a callback of this handler threw, or the tunnel closed (`tunnelLost`,
   * `unread`).
   */
  onReset(code: ResetCode, reason: string): void;
  /** Called once, last: the agent has finished the stream, did not confirm for 5 s, or the tunnel closed. */
  onClosed(): void;
}

/** A request in flight. Every method may be called at any time, also after the end. */
export interface RequestStream {
  /** The request body's buffers are no longer read: it is completely written in frames, or the stream was aborted. */
  readonly isBodyTaken: boolean;
  /** @returns false when the caller should wait for `onBodyDrain`. Bytes after the stream's end are dropped. */
  writeBody(chunk: Buffer): boolean;
  endBody(): void;
  /** Resumes after `onData` returned false. */
  resume(): void;
  /** Aborts the stream. Only `onClosed` follows. */
  reset(code: ResetCode, reason: string): void;
}

/** What a stream needs from its session. */
export interface OutgoingRequestPort {
  readonly writer: FrameWriter;
  readonly requestHeads: HeadWriter<RequestHead>;
  readonly responseHeads: HeadReader<ResponseHead>;
  /** RESET was sent; `expire()` is called unless the agent confirms in time. */
  awaitConfirmation(stream: OutgoingRequest): void;
  forget(stream: OutgoingRequest): void;
  onError(error: unknown): void;
}

/**
 * ```
 * open ── END, RESPONSE{end}, RESET, tunnel lost ──────────────► closed
 * open ── reset(), bad head, handler threw ──► resetting ──────► closed   (END or RESET from the agent, 5 s, tunnel lost)
 * ```
 */
export class OutgoingRequest implements RequestStream, TunnelStream {
  readonly id: number;
  readonly #port: OutgoingRequestPort;
  readonly #handler: ResponseHandler;
  readonly #body = new OutgoingBody();
  readonly #credit: SendCredit;
  readonly #window: ReceiveWindow;
  #phase: "open" | "resetting" | "closed" = "open";
  #hasHead = false;
  #isBodyWhole = true;
  #isBodySent = false;
  #wantsDrain = false;
  #isForgotten = false;

  constructor(
    id: number,
    port: OutgoingRequestPort,
    handler: ResponseHandler,
    requestWindowBytes: number,
    responseWindowBytes: number,
  ) {
    this.id = id;
    this.#port = port;
    this.#handler = handler;
    this.#credit = new SendCredit(requestWindowBytes);
    this.#window = new ReceiveWindow(responseWindowBytes);
  }

  /**
   * Sends REQUEST and as much of the body as there is credit for. Called once.
   *
   * @param body - `"streamed"`: follows through {@link writeBody}
   * @returns false, and nothing is sent, when the head is over 16 KiB
   */
  start(head: RequestHead, body: readonly Buffer[] | "streamed"): boolean {
    this.#isBodyWhole = body !== "streamed";
    if (body !== "streamed") for (const chunk of body) this.#body.push(chunk);
    const credit = this.#credit.availableBytes;
    const rideBytes = Math.min(this.#body.bytes, WIRE_LIMITS.requestRideBytes, credit);
    const end = this.#isBodyWhole && rideBytes === this.#body.bytes;
    const { writer, requestHeads } = this.#port;
    const bytes = requestHeads.write(head, end);
    if (bytes.length > WIRE_LIMITS.headBytes) return false;
    this.#isBodySent = end;
    this.#credit.spend(rideBytes);
    writer.head(FRAME_TYPES.request, this.id, bytes, this.#body, rideBytes);
    this.sendMore();
    return true;
  }

  get isBodyTaken(): boolean {
    return this.#body.bytes === 0;
  }

  writeBody(chunk: Buffer): boolean {
    if (this.#phase !== "open" || this.#isBodyWhole) return true;
    this.#wantsDrain = false;
    this.#body.push(chunk);
    this.sendMore();
    this.#wantsDrain = this.#body.bytes > 0;
    return !this.#wantsDrain;
  }

  endBody(): void {
    this.#isBodyWhole = true;
    this.sendMore();
  }

  resume(): void {
    if (this.#phase !== "open") return;
    const credit = this.#window.release();
    if (credit > 0) this.#port.writer.window(this.id, credit);
  }

  reset(code: ResetCode, reason: string): void {
    if (this.#phase !== "open") return;
    this.#phase = "resetting";
    this.#body.clear();
    this.#port.writer.reset(this.id, code, reason);
    this.#port.awaitConfirmation(this);
  }

  receiveResponse(payload: Buffer): void {
    if (this.#phase === "open" && this.#hasHead) throw outOfPlace(FRAME_TYPES.response, "twice");
    const response = this.#decodeResponse(payload);
    if (response === undefined) return;
    if (this.#phase === "resetting") {
      // The whole response crossed our RESET; the agent has finished and will not confirm it.
      if (response.end) this.#close();
      return;
    }
    this.#hasHead = true;
    this.#window.receive(response.body.length);
    try {
      this.#handler.onHead(response.head);
    } catch (error) {
      this.#fail(error);
    }
    // Also after a failure: `end` means that the agent has finished and will not confirm.
    if (response.body.length > 0) this.#deliver(response.body);
    if (response.end) this.receiveEnd();
  }

  receiveData(chunk: Buffer): void {
    if (this.#phase !== "open") return;
    if (!this.#hasHead) throw outOfPlace(FRAME_TYPES.data, "before RESPONSE");
    this.#window.receive(chunk.length);
    this.#deliver(chunk);
  }

  receiveEnd(): void {
    if (this.#phase === "open") {
      if (!this.#hasHead) throw outOfPlace(FRAME_TYPES.end, "before RESPONSE");
      // Closed first: a callback that calls reset() now must not send anything.
      this.#phase = "closed";
      try {
        this.#handler.onEnd();
      } catch (error) {
        this.#port.onError(error);
      }
    }
    this.#close();
  }

  receiveWindow(bytes: number): void {
    if (this.#phase !== "open") return;
    this.#credit.grant(bytes);
    this.sendMore();
  }

  receiveReset(code: ResetCode, reason: string): void {
    if (this.#phase === "open") this.#reportReset(code, reason, "closed");
    this.#close();
  }

  /** The tunnel is resumed. */
  resumed(): void {
    if (this.#phase !== "open") return;
    this.sendMore();
    try {
      this.#handler.onResumed?.();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** The agent did not confirm a RESET in time. */
  expire(): void {
    if (this.#phase === "resetting") this.#close();
  }

  lose(code: ResetCode, reason: string): void {
    if (this.#phase === "open") this.#reportReset(code, reason, "closed");
    this.#close();
  }

  #decodeResponse(payload: Buffer): HeadedPayload<ResponseHead> | undefined {
    try {
      return this.#port.responseHeads.read(payload, WIRE_LIMITS.headBytes);
    } catch (error) {
      if (!(error instanceof MalformedPayload)) throw error;
      this.#giveUp(RESET_CODES.providerInvalidResponse, `malformed response: ${error.message}`);
      return undefined;
    }
  }

  #deliver(chunk: Buffer): void {
    if (this.#phase !== "open") return;
    let isAccepted: boolean;
    try {
      isAccepted = this.#handler.onData(chunk);
    } catch (error) {
      return this.#fail(error);
    }
    const credit = this.#window.settle(chunk.length, isAccepted);
    // The callback may have aborted the stream.
    if (credit > 0 && this.#isStillOpen()) this.#port.writer.window(this.id, credit);
  }

  #isStillOpen(): boolean {
    return this.#phase === "open";
  }

  sendMore(maxFrames?: number): boolean {
    if (this.#isBodySent || this.#phase !== "open") return false;
    const { writer } = this.#port;
    if (!this.#body.pump(writer, this.id, this.#credit, maxFrames)) {
      return this.#credit.availableBytes > 0;
    }
    if (this.#isBodyWhole) {
      this.#isBodySent = true;
      writer.end(this.id);
    } else this.#reportDrain();
    return false;
  }

  #reportDrain(): void {
    if (!this.#wantsDrain) return;
    this.#wantsDrain = false;
    try {
      this.#handler.onBodyDrain?.();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** A callback threw: this stream is over, the session is not. */
  #fail(error: unknown): void {
    this.#port.onError(error);
    this.#giveUp(RESET_CODES.internal, "the response handler threw");
  }

  #giveUp(code: ResetCode, reason: string): void {
    if (this.#phase !== "open") return;
    this.reset(code, reason);
    this.#reportReset(code, reason, "resetting");
  }

  #reportReset(code: ResetCode, reason: string, phase: "resetting" | "closed"): void {
    this.#phase = phase;
    try {
      this.#handler.onReset(code, reason);
    } catch (error) {
      this.#port.onError(error);
    }
  }

  #close(): void {
    if (this.#isForgotten) return;
    this.#isForgotten = true;
    this.#phase = "closed";
    this.#body.clear();
    this.#port.forget(this);
    try {
      this.#handler.onClosed();
    } catch (error) {
      this.#port.onError(error);
    }
  }
}

/** A request that was not sent: its handler is called after the caller has the stream. */
export function refuseStream(
  handler: ResponseHandler,
  code: ResetCode,
  reason: string,
  world: World,
  onError: (error: unknown) => void,
): RequestStream {
  let isWanted = true;
  world.setImmediate(() => {
    try {
      if (isWanted) handler.onReset(code, reason);
    } catch (error) {
      onError(error);
    }
    try {
      handler.onClosed();
    } catch (error) {
      onError(error);
    }
  });
  return {
    isBodyTaken: true,
    writeBody: () => true,
    endBody() {},
    resume() {},
    reset() {
      isWanted = false;
    },
  };
}
