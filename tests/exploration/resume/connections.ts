import type {
  Transport,
  TransportListener,
} from "../../../packages/tunnel/src/transport/transport.ts";

type Parcel = { bytes: string } | { code: number; reason: string };

/** One end of a connection. What it receives, and that it has ended, comes when the exploration says so. */
export class End implements Transport {
  readonly bufferedBytes = 0;
  readonly inbox: Parcel[] = [];
  isOver = false;
  /** Nothing new arrives, and this end has not noticed. */
  isBroken = false;
  #listener: TransportListener | undefined;
  #isClosing = false;
  readonly #other: () => End;

  constructor(other: () => End) {
    this.#other = other;
  }

  get listener(): TransportListener | undefined {
    return this.#listener;
  }

  listen(listener: TransportListener): void {
    this.#listener = listener;
  }

  send(message: Buffer): void {
    this.#post({ bytes: message.toString("latin1") });
  }

  ping(): void {}

  close(code: number, reason: string): void {
    this.#post({ code, reason });
    this.#isClosing = true;
  }

  terminate(): void {
    this.isOver = true;
    this.#other().isBroken = true;
  }

  deliver(): void {
    const parcel = this.inbox.shift();
    if (parcel === undefined || this.isOver) return;
    if ("bytes" in parcel) {
      this.#listener?.onMessage(Buffer.from(parcel.bytes, "latin1"));
      return;
    }
    this.#other().end(parcel.code, parcel.reason);
    this.end(parcel.code, parcel.reason);
  }

  end(code: number, reason: string): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#listener?.onClose(code, reason);
  }

  #post(parcel: Parcel): void {
    if (this.#isClosing || this.isOver || this.isBroken) return;
    this.#other().inbox.push(parcel);
  }
}

export interface Connection {
  hub: End;
  agent: End;
}

export function connect(): Connection {
  const hub: End = new End(() => agent);
  const agent: End = new End(() => hub);
  return { hub, agent };
}
