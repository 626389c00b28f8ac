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
import { ProtocolError } from "./wire/protocol-error.ts";
import { HeadReader, HeadWriter } from "./wire/repeated-head.ts";
import { RESET_CODES, resetCodeFromWire } from "./wire/reset-code.ts";
import { encodeStatus } from "./wire/status.ts";
import type { TunnelStatus } from "./wire/status.ts";
import { StreamTable } from "./streams/stream-table.ts";
import type { Transport } from "./transport/transport.ts";
import { outOfPlace, PING_INTERVAL_MS, TunnelLink } from "./tunnel-link.ts";

const REQUEST_WINDOW_BYTES = 1024 * 1024;

export interface AgentSessionHandlers {
  /** The hub's HELLO. */
  onHello(hello: Hello): void;
  /** Called once per stream, inside the tunnel's message event. May respond synchronously. */
  onRequest(request: IncomingRequest): RequestBodyHandler;
  /** The hub opens no new streams on this tunnel. */
  onGoAway(reason: string): void;
  /** Called once, after `onReset` of every stream. `CLOSE_CODES` or the code of the WebSocket. */
  onClose(code: number, reason: string): void;
  /** A JSON object from the hub at the other end of a link. Absent on a tunnel, where NOTICE is a fault. */
  onNotice?(notice: Record<string, unknown>): void;
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
  handlers: AgentSessionHandlers;
}

/**
 * The side of a tunnel that responds. Owns the transport from construction until `onClose`. Has no timer and reads no
 * clock: the owner calls `tick()` about once a second.
 */
export class AgentSession {
  readonly #options: AgentSessionOptions;
  readonly #requestWindowBytes: number;
  readonly #link: TunnelLink;
  readonly #port: AgentStreamPort;
  readonly #streams = new StreamTable<AgentStream>();
  readonly #requestHeads = new HeadReader(decodeRequest);
  #heldHeads: AgentStream[] = [];
  #lastStreamId = 0;
  #hasSaidGoAway = false;

  constructor(transport: Transport, options: AgentSessionOptions) {
    this.#options = options;
    this.#requestWindowBytes = options.requestWindowBytes ?? REQUEST_WINDOW_BYTES;
    const { maxStreams, capabilities, handlers } = options;
    const hello = { maxStreams, windowBytes: this.#requestWindowBytes, capabilities };
    this.#link = new TunnelLink(
      transport,
      hello,
      {
        greeting: "first",
        pingIntervalMs: options.pingIntervalMs ?? PING_INTERVAL_MS,
        isLink: handlers.onNotice !== undefined,
      },
      {
        onHello: (hello) => handlers.onHello(hello),
        onFrame: (type, streamId, payload) => this.#onFrame(type, streamId, payload),
        onMessageEnd: () => {},
        onFlush: () => this.#sendHeldHeads(),
        onLife: () => {},
        onGoAway: (reason) => handlers.onGoAway(reason),
        onNotice: (notice) => handlers.onNotice?.(notice),
        onClose: (code, reason) => this.#onClose(code, reason),
        onError: (error) => handlers.onError(error),
      },
    );
    this.#port = {
      writer: this.#link.writer,
      responseHeads: new HeadWriter(encodeResponseHead),
      holdHead: (stream) => {
        this.#heldHeads.push(stream);
        this.#link.writer.schedule();
      },
      forget: (stream) => this.#streams.delete(stream.id),
      ended: () => {
        // The work after the end of a lone response runs while the hub reads it.
        if (this.#streams.size === 0) this.#link.writer.flush();
      },
      onError: (error) => handlers.onError(error),
    };
  }

  get isOpen(): boolean {
    return this.#link.isOpen;
  }

  /** Streams whose response is incomplete, including cancelled ones until they are confirmed. */
  get activeStreams(): number {
    return this.#streams.size;
  }

  sendStatus(status: TunnelStatus): void {
    if (this.isOpen) this.#link.writer.text(FRAME_TYPES.status, encodeStatus(status));
  }

  /** Sends a JSON object to the hub at the other end of a link. @returns false when it was dropped */
  notify(notice: object): boolean {
    return this.#link.notify(notice);
  }

  /** Refuses new streams; running ones continue. */
  goAway(reason: string): void {
    this.#hasSaidGoAway = true;
    this.#link.goAway(reason);
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
    this.#link.tick(nowMs);
  }

  #onFrame(type: FrameType, streamId: number, payload: Buffer): void {
    if (type === FRAME_TYPES.request) return this.#onRequest(streamId, payload);
    if (
      type === FRAME_TYPES.status ||
      type === FRAME_TYPES.response ||
      type === FRAME_TYPES.admitted
    ) {
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
      case FRAME_TYPES.notice:
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
    const { handlers } = this.#options;
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
    if (this.#hasSaidGoAway) return "the agent is leaving";
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

  #sendHeldHeads(): void {
    if (this.#heldHeads.length === 0) return;
    const held = this.#heldHeads;
    this.#heldHeads = [];
    for (const stream of held) stream.sendHead();
  }

  #onClose(code: number, reason: string): void {
    const why = `tunnel closed: ${code}${reason === "" ? "" : ` ${reason}`}`;
    for (const stream of this.#streams.values()) stream.lose(why);
    this.#options.handlers.onClose(code, reason);
  }
}
