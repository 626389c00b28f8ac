import { DRAIN_NOTICE_BYTES } from "./transport.ts";
import type { Transport, TransportListener } from "./transport.ts";

/** A transport without a network that can simulate network faults. For tests of this package and of its users. */
export interface MemoryTransport extends Transport {
  /** Holds everything this end sends, including pongs, until `unstall()`: a stopped peer or a congested network. */
  stall(): void;
  unstall(): void;
  /** Both ends see a broken connection; data in flight is lost. */
  cut(): void;
}

/**
 * Two connected ends, of a hub and of an agent. Each delivers to the other in order, one message per turn of the event
 * loop. As with `wsTransport`, a message at the agent's end is valid until its handler has returned.
 */
export function memoryTransportPair(): [hub: MemoryTransport, agent: MemoryTransport] {
  const left = new MemoryEnd(false);
  const right = new MemoryEnd(true);
  left.peer = right;
  right.peer = left;
  return [left, right];
}

type Parcel =
  | { kind: "message"; bytes: Buffer }
  | { kind: "ping" }
  | { kind: "pong" }
  | { kind: "close"; code: number; reason: string };

class MemoryEnd implements MemoryTransport {
  peer: MemoryEnd | undefined;
  readonly #isAgent: boolean;
  #listener: TransportListener | undefined;
  #outgoing: Parcel[] = [];
  #isStalled = false;
  #isScheduled = false;
  #isClosing = false;
  #isClosed = false;
  #bufferedBytes = 0;

  constructor(isAgent: boolean) {
    this.#isAgent = isAgent;
  }

  get bufferedBytes(): number {
    return this.#bufferedBytes;
  }

  listen(listener: TransportListener): void {
    this.#listener = listener;
  }

  send(message: Buffer): void {
    if (this.#isClosing) return;
    this.#bufferedBytes += message.length;
    this.#post({ kind: "message", bytes: message });
  }

  ping(): void {
    this.#post({ kind: "ping" });
  }

  close(code: number, reason: string): void {
    if (this.#isClosing) return;
    this.#post({ kind: "close", code, reason });
    this.#isClosing = true;
  }

  terminate(): void {
    this.cut();
  }

  stall(): void {
    this.#isStalled = true;
  }

  unstall(): void {
    this.#isStalled = false;
    this.#schedule();
  }

  cut(): void {
    setImmediate(() => {
      this.#finish(1006, "");
      if (this.peer !== undefined) this.peer.#finish(1006, "");
    });
    this.#isStalled = true;
    this.#isClosing = true;
  }

  #post(parcel: Parcel): void {
    if (this.#isClosing) return;
    this.#outgoing.push(parcel);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled || this.#isStalled || this.#outgoing.length === 0) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      if (this.#isStalled) return;
      const parcel = this.#outgoing.shift();
      if (parcel !== undefined && this.peer !== undefined) this.peer.#accept(parcel, this);
      this.#schedule();
    });
  }

  #accept(parcel: Parcel, from: MemoryEnd): void {
    if (parcel.kind === "message") from.#left(parcel.bytes.length);
    if (this.#isClosed) return;
    switch (parcel.kind) {
      case "message":
        return this.#read(parcel.bytes);
      case "ping":
        this.#post({ kind: "pong" });
        return this.#listener?.onLife(false);
      case "pong":
        return this.#listener?.onLife(true);
      case "close":
        this.#finish(parcel.code, parcel.reason);
        return from.#finish(parcel.code, parcel.reason);
    }
  }

  /** A copy, as on a network: neither end sees the other change its buffers. */
  #read(bytes: Buffer): void {
    const own = Buffer.allocUnsafeSlow(bytes.length);
    bytes.copy(own);
    this.#listener?.onMessage(own);
    if (this.#isAgent) own.buffer.transfer(0);
  }

  #left(bytes: number): void {
    const wasMuch = this.#bufferedBytes > DRAIN_NOTICE_BYTES;
    this.#bufferedBytes -= bytes;
    if (wasMuch) this.#listener?.onDrain?.();
  }

  #finish(code: number, reason: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#isClosing = true;
    this.#outgoing = [];
    this.#bufferedBytes = 0;
    this.#listener?.onClose(code, reason);
  }
}
