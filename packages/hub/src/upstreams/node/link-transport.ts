import type { Transport, TransportListener } from "@roomhub/tunnel";
import { CLOSE_CODES } from "@roomhub/tunnel";
import type { LinkedHub, LinkHandshake } from "./handshake.ts";

/** How the handshake of one link ends. One of the two is called, once. */
export interface HandshakeEnd {
  /** The session on `transport` must be made before this returns. */
  proven(peer: LinkedHub, transport: Transport): void;
  failed(reason: string, closeCode: number): void;
}

/** A link of which nothing is known yet. */
export interface UnprovenLink {
  /** It took too long, or is not needed any more: ends in `failed`. */
  abandon(reason: string): void;
}

/** Runs the handshake on a connection that is open; the transport is this function's until then. */
export function proveLink(
  transport: Transport,
  handshake: LinkHandshake,
  end: HandshakeEnd,
): UnprovenLink {
  const link = new LinkTransport(transport, handshake, end);
  transport.send(handshake.greeting);
  return link;
}

/** Reads the first messages of a link itself; from its proof on, everything passes to the session. */
class LinkTransport implements Transport, TransportListener, UnprovenLink {
  readonly #inner: Transport;
  readonly #handshake: LinkHandshake;
  readonly #end: HandshakeEnd;
  #state: "unproven" | "proven" | "ended" = "unproven";
  #session: TransportListener | undefined;

  constructor(inner: Transport, handshake: LinkHandshake, end: HandshakeEnd) {
    this.#inner = inner;
    this.#handshake = handshake;
    this.#end = end;
    inner.listen(this);
  }

  get bufferedBytes(): number {
    return this.#inner.bufferedBytes;
  }

  listen(listener: TransportListener): void {
    this.#session = listener;
  }

  send(message: Buffer): void {
    this.#inner.send(message);
  }

  ping(): void {
    this.#inner.ping();
  }

  close(code: number, reason: string): void {
    this.#inner.close(code, reason);
  }

  terminate(): void {
    this.#inner.terminate();
  }

  abandon(reason: string): void {
    this.#fail(CLOSE_CODES.protocolError, reason);
  }

  onMessage(message: Buffer): void {
    if (this.#state === "proven") return this.#session?.onMessage(message);
    if (this.#state === "ended") return;
    const step = this.#handshake.receive(message);
    if (step.kind === "failed") return this.#fail(step.closeCode, step.reason);
    if (step.send !== undefined) this.#inner.send(step.send);
    if (step.kind === "continue") return;
    this.#state = "proven";
    this.#end.proven(step.peer, this);
  }

  onLife(): void {
    this.#session?.onLife();
  }

  onDrain(): void {
    this.#session?.onDrain?.();
  }

  onClose(code: number, reason: string): void {
    if (this.#state === "proven") return this.#session?.onClose(code, reason);
    if (this.#state === "ended") return;
    this.#state = "ended";
    this.#end.failed(reason === "" ? `the connection closed with ${code}` : reason, code);
  }

  #fail(code: number, reason: string): void {
    if (this.#state !== "unproven") return;
    this.#state = "ended";
    this.#inner.close(code, reason);
    this.#end.failed(reason, code);
  }
}
